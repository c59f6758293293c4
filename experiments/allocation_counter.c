/* Counts what Python allocates: a hook in front of its allocators for memory and for objects. */

#include <Python.h>

static PyMemAllocatorEx below_memory, below_objects;
static long long allocated, boxes;

static void *counted_malloc(void *below, size_t size) {
    PyMemAllocatorEx *next = below;
    allocated++;
    return next->malloc(next->ctx, size);
}

static void *counted_calloc(void *below, size_t count, size_t size) {
    PyMemAllocatorEx *next = below;
    allocated++;
    return next->calloc(next->ctx, count, size);
}

static void *counted_realloc(void *below, void *block, size_t size) {
    PyMemAllocatorEx *next = below;
    allocated++;
    return next->realloc(next->ctx, block, size);
}

static void plain_free(void *below, void *block) {
    PyMemAllocatorEx *next = below;
    next->free(next->ctx, block);
}

/* An integer is freed as the object that it is: its type is where every object's type is.  What is
   behind the header of garbage collection, or no object, has no such pointer there; the smallest
   block of the allocator has room for one. */
static void counting_free(void *below, void *block) {
    if (block != NULL && Py_IS_TYPE((PyObject *)block, &PyLong_Type))
        boxes++;
    plain_free(below, block);
}

static void hook(PyMemAllocatorDomain domain, PyMemAllocatorEx *below, void (*release)(void *, void *)) {
    PyMem_GetAllocator(domain, below);
    PyMemAllocatorEx counted = {below, counted_malloc, counted_calloc, counted_realloc, release};
    PyMem_SetAllocator(domain, &counted);
}

/* From now on, allocations are counted. */
void count_from_now(void) {
    allocated = boxes = 0;
    hook(PYMEM_DOMAIN_MEM, &below_memory, plain_free);
    hook(PYMEM_DOMAIN_OBJ, &below_objects, counting_free);
}

/* No longer. */
void count_no_longer(void) {
    PyMem_SetAllocator(PYMEM_DOMAIN_MEM, &below_memory);
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &below_objects);
}

long long allocations(void) { return allocated; }
long long boxed_integers(void) { return boxes; }

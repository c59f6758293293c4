"""What one thread computes, written down instruction by instruction with Python's integers.

Registers hold bits.  Floating point is exact: fractions, rounded once.
"""

import math
import struct
from fractions import Fraction

WIDTHS = {"8": 8, "16": 16, "32": 32, "64": 64}


def bits_of(type_):
    """Bits of a type."""
    return int(type_.lstrip("busf"))


def signed(value, bits):
    """Bits as a number with a sign."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def number(value, type_):
    """Bits as a number of a type of integers."""
    bits = bits_of(type_)
    value &= (1 << bits) - 1
    return signed(value, bits) if type_[0] == "s" else value


def wrapped(value, type_):
    """A number as bits."""
    return value & ((1 << bits_of(type_)) - 1)


def cut(value, by):
    """A quotient towards 0."""
    found = abs(value) // abs(by)
    return found if (value < 0) == (by < 0) else -found


def binary(opcode, type_, a, b):
    """add, sub, min, max, and, or, xor, shl, shr, div, rem, and products."""
    bits = bits_of(type_)
    x, y = number(a, type_), number(b, type_)
    if opcode in {"shl", "shr"}:
        y = b & 0xFFFFFFFF
        if opcode == "shl":
            return wrapped(x << y, type_) if y < bits else 0
        return wrapped(x >> min(y, bits), type_)
    if opcode in {"div", "rem"}:
        if y == 0:
            return wrapped(-1, type_) if opcode == "div" else wrapped(x, type_)
        whole = cut(x, y)
        return wrapped(whole if opcode == "div" else x - whole * y, type_)
    if opcode == "mul.hi":
        return wrapped((x * y) >> bits, type_)
    found = {
        "add": x + y,
        "sub": x - y,
        "mul.lo": x * y,
        "min": min(x, y),
        "max": max(x, y),
        "and": x & y,
        "or": x | y,
        "xor": x ^ y,
    }[opcode]
    return wrapped(found, type_)


def unary(opcode, type_, a):
    """neg, abs, not, popc, clz, brev, bfind."""
    bits = bits_of(type_)
    x = number(a, type_)
    plain = a & ((1 << bits) - 1)
    if opcode == "neg":
        return wrapped(-x, type_)
    if opcode == "abs":
        return wrapped(abs(x), type_)
    if opcode == "not":
        return wrapped(~x, type_)
    if opcode == "cnot":
        return int(plain == 0)
    if opcode == "popc":
        return plain.bit_count()
    if opcode == "clz":
        return bits - plain.bit_length()
    if opcode == "brev":
        return int(f"{plain:0{bits}b}"[::-1], 2)
    found = ~x if x < 0 else x
    return found.bit_length() - 1 if found else 0xFFFFFFFF


def bfe(type_, a, position, length):
    """A field of bits, as the PTX ISA defines it."""
    bits = bits_of(type_)
    msb = bits - 1
    pos, count = position & 0xFF, length & 0xFF
    x = a & ((1 << bits) - 1)
    sign = 0
    if type_[0] == "s" and count:
        sign = x >> min(pos + count - 1, msb) & 1
    found = 0
    for bit in range(bits):
        take = bit < count and pos + bit <= msb
        found |= (x >> (pos + bit) & 1 if take else sign) << bit
    return found


def bfi(type_, a, b, position, length):
    """A field of bits put into another number."""
    bits = bits_of(type_)
    pos, count = position & 0xFF, length & 0xFF
    found = b & ((1 << bits) - 1)
    for bit in range(count):
        if pos + bit < bits:
            found &= ~(1 << (pos + bit))
            found |= (a >> bit & 1 if bit < bits else 0) << (pos + bit)
    return found


def prmt(a, b, select):
    """Bytes picked from two registers."""
    source = (b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF
    found = 0
    for place in range(4):
        pick = select >> (4 * place) & 15
        byte = source >> (8 * (pick & 7)) & 0xFF
        if pick & 8:
            byte = 0xFF if byte & 0x80 else 0
        found |= byte << (8 * place)
    return found


def lop3(a, b, c, table):
    """Any logic of three registers."""
    found = 0
    for bit in range(32):
        row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
        found |= (table >> row & 1) << bit
    return found


def shf(left, wraps, a, b, c):
    """A funnel shift."""
    n = c & 31 if wraps else min(c & 0xFFFFFFFF, 32)
    both = (b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF
    return (both << n >> 32 if left else both >> n) & 0xFFFFFFFF


# -- floating point ------------------------------------------------------------------------------


def real(bits, size=32):
    """Bits as a Python float."""
    code = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}[size]
    return struct.unpack(code[1], struct.pack(code[0], bits))[0]


_SHAPES = {16: (11, -24, 15), 32: (24, -149, 127), 64: (53, -1074, 1023)}


def rounded(value, size=32, way="rn", zero=0):
    """A fraction as bits: to the nearest even (rn), towards 0 (rz), down (rm), up (rp)."""
    digits, least, most = _SHAPES[size]
    if value == 0:
        return zero
    sign = int(value < 0)
    value = abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    whole, rest = divmod(value / unit, 1)
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rz": False,
        "rm": rest > 0 and sign == 1,
        "rp": rest > 0 and sign == 0,
    }[way]
    found = (whole + up) * unit
    code = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[size]
    top = (1 << size - 1) - 1
    inf = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF << 52}[size]
    if found >= Fraction(2) ** (most + 1):
        away = way == "rn" or (way == "rm" and sign) or (way == "rp" and not sign)
        bits = inf if away else inf - 1
        assert bits <= top
    else:
        bits = struct.unpack(code[1], struct.pack(code[0], float(found)))[0]
    return bits | sign << (size - 1)


def is_special(*values):
    """Whether any is infinite or no number."""
    return any(math.isinf(one) or math.isnan(one) for one in values)

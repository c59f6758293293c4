"""Links and routes of each topology."""

import pytest

from gpusim.hardware.node import SWITCH, make_topology
from gpusim.hardware.node.topology import columns


@pytest.mark.parametrize("name", ["all-to-all", "ring", "mesh", "switch"])
@pytest.mark.parametrize("gpus", [1, 2, 3, 4, 6, 8])
def test_every_route_is_a_chain_of_links_from_one_gpu_to_the_other(name, gpus):
    topology = make_topology(name, gpus)
    for source in range(gpus):
        for target in range(gpus):
            place = source
            for link in topology.routes[source][target]:
                assert topology.ends[link][0] == place
                place = topology.ends[link][1]
            assert place == target
    assert len(set(topology.ends)) == len(topology.ends)


def test_numbers_of_links():
    assert len(make_topology("all-to-all", 4).ends) == 12
    assert len(make_topology("switch", 4).ends) == 8
    assert len(make_topology("ring", 4).ends) == 8
    assert len(make_topology("ring", 2).ends) == 2
    assert len(make_topology("mesh", 4).ends) == 8
    assert SWITCH in make_topology("switch", 2).ends[0]


def test_a_ring_takes_the_shorter_way_and_upwards_if_both_are_as_long():
    ring = make_topology("ring", 6)
    hops = [[ring.ends[link] for link in ring.routes[0][target]] for target in range(6)]
    assert hops[2] == [(0, 1), (1, 2)]
    assert hops[3] == [(0, 1), (1, 2), (2, 3)]
    assert hops[4] == [(0, 5), (5, 4)]


def test_a_mesh_goes_along_the_row_first():
    mesh = make_topology("mesh", 6)  # rows of three: 0 1 2 / 3 4 5
    assert [mesh.ends[link] for link in mesh.routes[0][5]] == [(0, 1), (1, 2), (2, 5)]
    assert [columns(gpus) for gpus in (1, 2, 4, 6, 7, 8, 16)] == [1, 2, 2, 3, 7, 4, 4]

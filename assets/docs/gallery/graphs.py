"""Two networkx graphs.

`match` takes them as they are; networkx is never imported by the package. Where two graphs disagree about an edge, that
costs the squared difference of its weights.
"""

# %%
# Sixteen nodes, joined where they are near, weighted by their distance; and a copy with other names for the nodes,
# from which three edges are gone.
import networkx as nx
import numpy as np

from features import match

rng = np.random.default_rng(1)
graph = nx.random_geometric_graph(16, 0.4, seed=4)
place = nx.get_node_attributes(graph, "pos")
for one, other in graph.edges:
    graph.edges[one, other]["weight"] = float(np.hypot(*np.subtract(place[one], place[other])))
names = rng.permutation(16).tolist()
copy = nx.relabel_nodes(graph, {i: 100 + names[i] for i in graph})
copy.remove_edges_from(list(copy.edges)[:3])
nodes = list(copy)
truth = [nodes.index(100 + names[i]) for i in graph]

# %%
match(graph, copy, truth=truth, name="a graph and its damaged copy")

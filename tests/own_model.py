"""A model that is not FLODE, as a user writes one in a file: see ``test_othermodels``."""

import torch


class OwnModel(torch.nn.Module):
    """Mixes a node's features with the mean of those that it gathers from."""

    def __init__(self, in_channels, out_channels, width=8, dropout=0.5):
        super().__init__()
        self.encoder = torch.nn.Linear(2 * in_channels, width)
        self.norm = torch.nn.BatchNorm1d(width)  # has buffers, one of them of whole numbers
        self.decoder = torch.nn.Linear(width, out_channels)
        self.dropout = dropout

    def forward(self, x, edge_index):
        source, target = edge_index
        total = torch.zeros_like(x).index_add(0, target, x[source])
        count = torch.zeros(len(x), 1).index_add(0, target, torch.ones(len(source), 1))
        x = torch.cat([x, total / count.clamp(min=1)], dim=1)
        x = torch.relu(self.norm(self.encoder(x)))
        return self.decoder(torch.dropout(x, self.dropout, self.training))

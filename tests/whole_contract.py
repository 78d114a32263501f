"""A contract with something in each of its parts, under the rules that are usual."""

from autoloader.values.contract import (
    Contract,
    ContractField,
    ContractLabel,
    Padding,
)

CONTRACT = Contract(
    examples=50000,
    fields=(
        ContractField(
            path="image",
            type="tensor",
            dtype="float32",
            shape=(3, None, None),
            axes="channels_first",
            random=True,
        ),
        ContractField(path="caption", type="str", optional=True),
        ContractField(path="0", type="int", shape=()),
    ),
    label=ContractLabel(path="0", low=0, high=9),
    equal_sizes=(("image[1]", "image[2]"),),
    padding=(Padding(mask="mask", of="image", axis=1),),
    seen=2048,
    of=50000,
)

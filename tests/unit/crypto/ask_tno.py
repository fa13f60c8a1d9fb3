"""Run by TNO's own Python: opens ciphertexts with given shares by its threshold Paillier, and encrypts; as JSON."""

from __future__ import annotations

import json
import sys

from tno.mpc.encryption_schemes.paillier import Paillier, PaillierCiphertext, PaillierPublicKey
from tno.mpc.encryption_schemes.shamir import IntegerShares, ShamirSecretSharingIntegers
from tno.mpc.protocols.distributed_keygen.paillier_shared_key import PaillierSharedKey

if __name__ == "__main__":
    question = json.load(sys.stdin)
    n, parties, degree = question["n"], question["parties"], question["degree"]
    scheme = Paillier(PaillierPublicKey(n, n + 1), None)
    sharing = ShamirSecretSharingIntegers(kappa=0, max_int=1, number_of_parties=parties, polynomial_degree=degree)
    read = []
    for value in question["ciphertexts"]:
        parts, keys = {}, []
        for place, share in question["shares"]:
            mine = IntegerShares(sharing, {place: share}, degree, 1)
            keys.append(PaillierSharedKey(n, degree, place, mine, question["theta"]))
            parts[place] = int(keys[-1].partial_decrypt(PaillierCiphertext(value, scheme)))
        read.append(int(keys[0].decrypt(parts)))
    encrypted = [int(scheme.encrypt(number).get_value()) for number in question["numbers"]]
    json.dump({"read": read, "encrypted": encrypted}, sys.stdout)

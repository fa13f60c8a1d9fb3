"""Run by phe's own Python: reads ciphertexts and encrypts numbers under a given key, both as JSON."""

from __future__ import annotations

import json
import sys

from phe.paillier import PaillierPrivateKey, PaillierPublicKey

if __name__ == "__main__":
    question = json.load(sys.stdin)
    public = PaillierPublicKey(question["p"] * question["q"])
    secret = PaillierPrivateKey(public, question["p"], question["q"])
    answer = {
        "read": [int(secret.raw_decrypt(value)) for value in question["ciphertexts"]],
        "encrypted": [int(public.raw_encrypt(number)) for number in question["numbers"]],
    }
    json.dump(answer, sys.stdout)

import { createHash } from 'node:crypto'

/** The set of addresses that got a message. It needs at most 32 bytes of memory for each address. */
export interface AddressesSeen {
  add(key: string): void
  has(key: string): boolean
  /** Returns an independent copy. */
  copy(): AddressesSeen
}

const FIRST_SIZE = 1024

/**
 * Stores the first 64 bits of the SHA-256 of each address. The probability of a collision among a million addresses is
 * less than one in ten million.
 */
export function createAddressesSeen(): AddressesSeen {
  return addressesIn(new BigUint64Array(FIRST_SIZE), 0)
}

function addressesIn(first: BigUint64Array, initialCount: number): AddressesSeen {
  let slots = first
  let count = initialCount

  function grow(): void {
    const before = slots
    slots = new BigUint64Array(before.length * 2)
    for (const hash of before) if (hash !== 0n) slots[slotOf(slots, hash)] = hash
  }

  return {
    add(key) {
      if (count * 2 > slots.length) grow()
      const hash = hashOf(key)
      const slot = slotOf(slots, hash)
      if (slots[slot] === hash) return
      slots[slot] = hash
      count++
    },
    has(key) {
      const hash = hashOf(key)
      return slots[slotOf(slots, hash)] === hash
    },
    copy: () => addressesIn(slots.slice(), count),
  }
}

/** Returns the index of the slot that has the hash. If no slot has it, returns the index of the empty slot for it. */
function slotOf(slots: BigUint64Array, hash: bigint): number {
  let at = Number(hash % BigInt(slots.length))
  while (slots[at] !== 0n && slots[at] !== hash) at = (at + 1) % slots.length
  return at
}

function hashOf(key: string): bigint {
  // A hash of 0 becomes 1, because 0 marks an empty slot.
  return createHash('sha256').update(key).digest().readBigUInt64LE() || 1n
}

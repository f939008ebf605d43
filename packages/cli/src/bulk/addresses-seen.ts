import { createHash } from 'node:crypto'

/** Which addresses were written to: at most 32 bytes for each, whatever its length. */
export interface AddressesSeen {
  add(key: string): void
  has(key: string): boolean
  /** Another one that knows the same. */
  copy(): AddressesSeen
}

const FIRST_SIZE = 1024

/**
 * Remembers addresses by the first 64 bits of their SHA-256: that two of a million different ones are taken for one has
 * a chance of less than one in ten million.
 */
export function createAddressesSeen(): AddressesSeen {
  return addressesIn(new BigUint64Array(FIRST_SIZE), 0)
}

function addressesIn(first: BigUint64Array, known: number): AddressesSeen {
  let slots = first
  let count = known

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

/** Where it is, or the empty place where it would be. */
function slotOf(slots: BigUint64Array, hash: bigint): number {
  let at = Number(hash % BigInt(slots.length))
  while (slots[at] !== 0n && slots[at] !== hash) at = (at + 1) % slots.length
  return at
}

function hashOf(key: string): bigint {
  // Zero marks an empty place.
  return createHash('sha256').update(key).digest().readBigUInt64LE() || 1n
}

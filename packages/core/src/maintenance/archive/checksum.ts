import { hash } from 'node:crypto'

const MODULUS = 1n << 256n

/** A checksum that does not depend on the order of the rows. */
export interface Checksum {
  /** Adds one row, as its line in the archive without the line break. */
  add(line: string): void
  rows(): number
  /** The checksum: 64 hexadecimal digits. */
  sha256(): string
}

/** The sum of the rows' SHA-256 hashes, modulo 2^256. Unlike an exclusive-or, the sum detects a duplicated row. */
export function createChecksum(): Checksum {
  let rows = 0
  let sum = 0n
  return {
    add(line) {
      rows++
      sum = (sum + BigInt(`0x${hash('sha256', line)}`)) % MODULUS
    },
    rows: () => rows,
    sha256: () => sum.toString(16).padStart(64, '0'),
  }
}

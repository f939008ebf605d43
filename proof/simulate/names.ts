import crypto from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import { later, running } from './clock.ts'

// Import this module before the core, like the clock: it replaces the look-ups in DNS, and the making of keys, whose length differs
// from machine to machine.

/** The records of a seed, by name; `silent` has the domains whose servers do not answer. */
export interface Zone {
  records: Map<string, string>
  silent: Set<string>
  latency_ms: number
}

let zone: Zone
export function setZone(next: Zone): void {
  zone = next
}

/** After this time, a resolver gives up. */
const SILENCE_MS = 5_000

const errorOf = (code: string): Error => Object.assign(new Error(code), { code })

Resolver.prototype.resolveTxt = (name: string) => {
  const { records, silent, latency_ms } = zone
  const asking = running.process
  const isSilent = [...silent].some((domain) => name.endsWith(domain))
  return new Promise((resolve, reject) => {
    later(
      () => {
        if (asking !== running.process) return
        const text = records.get(name)
        if (isSilent) reject(errorOf('ETIMEOUT'))
        else if (text === undefined) reject(errorOf('ENOTFOUND'))
        else resolve([[text]])
      },
      isSilent ? SILENCE_MS : latency_ms,
    )
  })
}

let keys = 0
const makeKey = async () => {
  keys += 1
  const publicKey = Buffer.from(`key ${String(keys).padStart(9, '0')}`)
  return { publicKey, privateKey: `private ${publicKey}` }
}

/** The next key has this number. No simulated provider signs with the keys. */
export const countKeysFrom = (first: number): void => {
  keys = first
}

Object.assign(crypto, { generateKeyPair: Object.assign(() => {}, { [promisify.custom]: makeKey }) })
syncBuiltinESMExports()

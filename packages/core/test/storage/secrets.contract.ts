import { expect, it } from 'vitest'
import type { Sealed } from '../../src/rows/sealed.ts'
import { benchFor, type OpenStorage } from './bench.ts'

/** A generated secret never changes, also with simultaneous generation. */
export function secretsContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const keep = (name: string, value: string) =>
    bench.storage.write(({ secrets }) =>
      secrets.keepFirst({ name, value: value as Sealed, created_at: bench.clock.now() }),
    )

  it('keeps the first of a name, for all that come', async () => {
    expect(await bench.storage.read.secrets.byName('jwt')).toBeNull()
    const values = await Promise.all(Array.from({ length: 20 }, (_, i) => keep('jwt', `v${i}`)))
    expect(new Set(values).size).toBe(1)
    expect(await keep('jwt', 'late')).toBe(values[0])
    expect(await keep('other', 'o')).toBe('o')
    await bench.reopen()
    expect(await bench.storage.read.secrets.byName('jwt')).toBe(values[0])
  })
}

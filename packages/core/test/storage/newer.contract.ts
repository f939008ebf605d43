import { expect, it } from 'vitest'
import { benchFor, type OpenStorage } from './bench.ts'

/** Pages that precede a message: the nearest newer messages, newest first. */
export function newerContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('has the nearest newer messages, with any filter', async () => {
    const workspaceId = await bench.workspace(10)
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      ids.unshift((await bench.queued(workspaceId)).id)
      bench.clock.advance(1_000)
    }
    const { read } = bench.storage
    const page = { limit: 2, offset: 0, content_length: 1_000 }
    for (const filter of [{}, { channel: 'sms' as const }, { status: 'queued' as const }]) {
      const newer = async (newer_than?: string) =>
        (await read.messages.listShort(workspaceId, { ...filter, newer_than }, page)).map(
          ({ id }) => ids.indexOf(id),
        )
      expect(await newer(ids[4])).toEqual([2, 3])
      expect(await newer(ids[1])).toEqual([0])
      expect(await newer(ids[0])).toEqual([])
    }
  })
}

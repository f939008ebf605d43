import { expect, it } from 'vitest'
import type { AcceptResult } from '../../src/rules/accept.ts'
import { benchFor, type OpenStorage } from './bench.ts'

const HASH = 'cd'.repeat(32)
const OTHER = 'ef'.repeat(32)
const HOUR_MS = 3_600_000

/** A file is stored once in a workspace, and as long as a message has it. */
export function filesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const begin = (workspace_id: string, sha256 = HASH) =>
    bench.storage.write(({ files }) =>
      files.begin({ workspace_id, sha256, size_bytes: 6, chunks: 2 }, bench.clock.now()),
    )

  async function stored(workspaceId: string, sha256 = HASH): Promise<void> {
    await begin(workspaceId, sha256)
    await bench.storage.write(({ files }) => files.addChunk(workspaceId, sha256, 0, 'AAAA'))
    await bench.storage.write(({ files }) => files.addChunk(workspaceId, sha256, 1, 'BBBB'))
    expect(await bench.storage.write(({ files }) => files.complete(workspaceId, sha256))).toBe(true)
  }

  /** Accepts a message with these files; its outcome. */
  async function send(
    workspace_id: string,
    ...hashes: string[]
  ): Promise<{ id: string; outcome: AcceptResult['outcome'] }> {
    const request = bench.make.send(workspace_id)
    const id = request.messages[0]?.id ?? ''
    const files = hashes.map((sha256, number) => ({ workspace_id, message_id: id, number, sha256 }))
    const { outcome } = await bench.accept({ ...request, files })
    return { id, outcome }
  }

  /** The chunks of a file; null for those that are not stored. */
  const chunksOf = (workspaceId: string, sha256 = HASH) =>
    Promise.all([0, 1].map((n) => bench.storage.read.files.chunk(workspaceId, sha256, n)))

  const WHOLE = ['AAAA', 'BBBB']
  const GONE = [null, null]

  /** Ends the sending of all messages, so that they can be erased. */
  async function sendAll(): Promise<void> {
    for (const claimed of await bench.claimMessages()) {
      const outcome = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const
      await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
    }
  }

  const erase = (workspaceId: string, ...ids: string[]) =>
    bench.storage.write(({ erasure }) => erasure.messages(workspaceId, ids, bench.clock.now()))

  it('is read by its messages, in the order of the attachments', async () => {
    const workspaceId = await bench.workspace()
    await stored(workspaceId)
    await stored(workspaceId, OTHER)
    const { id, outcome } = await send(workspaceId, OTHER, HASH)
    expect(outcome).toBe('accepted')
    const file = { message_id: id, size_bytes: 6, chunks: 2 }
    expect(await bench.storage.read.files.ofMessages(workspaceId, [id])).toEqual([
      { ...file, number: 0, sha256: OTHER },
      { ...file, number: 1, sha256: HASH },
    ])
    expect(await chunksOf(workspaceId)).toEqual(WHOLE)
  })

  it('is stored once: a second request finds it whole', async () => {
    const workspaceId = await bench.workspace()
    await stored(workspaceId)
    expect(await begin(workspaceId)).toBe(true)
    expect(await begin(await bench.workspace())).toBe(false)
  })

  it('is not whole without a part, and no message can have it then', async () => {
    const workspaceId = await bench.workspace()
    await begin(workspaceId)
    await bench.storage.write(({ files }) => files.addChunk(workspaceId, HASH, 0, 'AAAA'))
    expect(await bench.storage.write(({ files }) => files.complete(workspaceId, HASH))).toBe(false)
    expect((await send(workspaceId, HASH)).outcome).toBe('file_gone')
    expect((await send(workspaceId, OTHER)).outcome).toBe('file_gone')
    expect((await bench.account(workspaceId)).seq).toBe(1)
  })

  it('is found whatever else is accepted with its message', async () => {
    const workspaceId = await bench.workspace()
    await stored(workspaceId)
    await bench.queued(workspaceId)
    const [plain, request] = [bench.make.send(workspaceId), bench.make.send(workspaceId)]
    const message_id = request.messages[0]?.id ?? ''
    const files = [{ workspace_id: workspaceId, message_id, number: 0, sha256: HASH }]
    expect(await bench.storage.hot.accept([plain, { ...request, files }])).toEqual([
      { outcome: 'accepted' },
      { outcome: 'accepted' },
    ])
  })

  it('of another workspace is no file of a message', async () => {
    const workspaceId = await bench.workspace()
    await stored(await bench.workspace())
    expect((await send(workspaceId, HASH)).outcome).toBe('file_gone')
  })

  it.each(['erased', 'redacted'])('is removed when its last message is %s', async (how) => {
    const workspaceId = await bench.workspace()
    await stored(workspaceId)
    const [first, second] = [await send(workspaceId, HASH), await send(workspaceId, HASH, HASH)]
    await sendAll()
    const remove = (id: string) =>
      how === 'erased'
        ? erase(workspaceId, id)
        : bench.storage.write(({ erasure }) => erasure.redact(workspaceId, id))
    await remove(first.id)
    expect(await chunksOf(workspaceId)).toEqual(WHOLE)
    expect(await bench.storage.read.files.ofMessages(workspaceId, [first.id])).toEqual([])
    await remove(second.id)
    expect(await chunksOf(workspaceId)).toEqual(GONE)
    expect((await send(workspaceId, HASH)).outcome).toBe('file_gone')
  })

  it('stays while its message is queued', async () => {
    const workspaceId = await bench.workspace()
    await stored(workspaceId)
    const { id } = await send(workspaceId, HASH)
    expect(await erase(workspaceId, id)).toEqual([])
    expect(await chunksOf(workspaceId)).toEqual(WHOLE)
  })

  it('is removed an hour after it was stored for a message that was not accepted', async () => {
    const workspaceId = await bench.workspace()
    await stored(workspaceId)
    await begin(workspaceId, OTHER)
    const forget = (now: Date) =>
      bench.storage.write(({ files }) => files.forgetUnused(new Date(now.getTime() - HOUR_MS), 10))
    const now = bench.clock.now()
    expect(await forget(now)).toBe(0)
    expect(await forget(new Date(now.getTime() + HOUR_MS + 1))).toBe(2)
    expect(await chunksOf(workspaceId)).toEqual(GONE)
    await stored(workspaceId)
    await send(workspaceId, HASH)
    expect(await forget(new Date(now.getTime() + 2 * HOUR_MS))).toBe(0)
    expect(await chunksOf(workspaceId)).toEqual(WHOLE)
  })

  it('of a refused request is removed at once, except files that other messages have', async () => {
    const workspaceId = await bench.workspace()
    await stored(workspaceId)
    await stored(workspaceId, OTHER)
    await send(workspaceId, HASH)
    await bench.storage.write(({ files }) => files.removeUnused(workspaceId, [HASH, OTHER]))
    expect(await chunksOf(workspaceId)).toEqual(WHOLE)
    expect(await chunksOf(workspaceId, OTHER)).toEqual(GONE)
  })

  it('survives a removal that runs at the same time as an acceptance, or refuses it', async () => {
    const workspaceId = await bench.workspace()
    for (let i = 0; i < 5; i++) {
      await stored(workspaceId)
      const [{ id, outcome }] = await Promise.all([
        send(workspaceId, HASH),
        bench.storage.write(({ files }) => files.removeUnused(workspaceId, [HASH])),
      ])
      expect(await chunksOf(workspaceId)).toEqual(outcome === 'accepted' ? WHOLE : GONE)
      await sendAll()
      await erase(workspaceId, id)
    }
  })
}

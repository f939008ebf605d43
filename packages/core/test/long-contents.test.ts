import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { MessageRow } from '../src/rows/rows.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/ports/storage.ts'
import { Sqlite } from '../src/storage/sqlite/engine/connection.ts'
import { exported, imported } from './archive/move.ts'
import { testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'
import { benchFor, EVERYTHING } from './storage/bench.ts'

const REFUSED = { type: 'rejected', error_code: 'unroutable', error_message: 'No route' } as const
const DAY_MS = 24 * 60 * 60_000

let folder = ''
const file = (name: string) => join(folder, name)

/** Keeps the words of one content apart from those of another in a search for bytes. */
const text = (name: string, length = 5_000) => `${name} ${name[0]?.repeat(length)}`

describe('long contents on SQLite', () => {
  const bench = benchFor(async () => {
    folder = await migratedFolder('svc-contents-')
    const url = `file:${file('svc.db')}`
    let storage = await openStorage(url, testRuntime('contents'), { clock: 'caller' })
    return {
      storage,
      async reopen(): Promise<Storage> {
        await storage.close()
        storage = await openStorage(url, testRuntime('contents'), { clock: 'caller' })
        return storage
      },
      async close() {
        await storage.close()
        rmSync(folder, { recursive: true })
      },
    }
  })

  function read<T>(sql: string, name = 'svc.db'): T {
    const connection = new Sqlite(file(name), { readonly: true })
    try {
      return connection.prepare(sql).pluck().get() as T
    } finally {
      connection.close()
    }
  }
  const contents = () => read<number>('select count(*) from message_contents')
  const dangling = () =>
    read<number>(
      `select count(*) from messages where content < ':'
       and not exists (select 1 from message_contents c where c.id = cast(messages.content as integer))`,
    )

  /** A bulk of e-mails with these texts; equal texts are one content. */
  async function bulkOf(workspaceId: string, texts: readonly string[]): Promise<MessageRow[]> {
    const byText = new Map(texts.map((each) => [each, { subject: 'Your order', text: each }]))
    const request = bench.make.bulk(workspaceId, texts.length, { channel: 'email' })
    const messages = request.messages.map((message, i) => ({
      ...message,
      content: byText.get(texts[i] ?? '') ?? message.content,
    }))
    await bench.accept({ ...request, messages, bulk: bench.make.bulkRow(messages) })
    return messages
  }

  async function refuseAll(): Promise<void> {
    for (const claimed of await bench.claimMessages()) {
      await bench.settle(claimed, { task: 'send', attempt: 1, outcome: REFUSED })
    }
  }

  it('are stored once for the messages of a bulk that share them, and short ones stay in the row', async () => {
    const workspaceId = await bench.workspace(10_000)
    await bulkOf(workspaceId, [text('shared'), text('own'), text('shared'), 'short'])
    expect(contents()).toBe(2)
    await bulkOf(
      workspaceId,
      Array.from({ length: 1_200 }, () => text('again', 20_000)),
    )
    expect(contents()).toBe(3)
    expect(dangling()).toBe(0)
  })

  it('leave the database with the last message that has them, erased or removed', async () => {
    const workspaceId = await bench.workspace()
    const messages = await bulkOf(workspaceId, [
      text('shared'),
      text('shared'),
      text('erased'),
      text('redacted'),
      text('kept'),
    ])
    const queued = await bench.queued(workspaceId, {
      content: { text: text('removed') },
      scheduled_at: null,
    })
    await refuseAll()
    expect(contents()).toBe(5)
    const [first, second, third, fourth] = messages.map(({ id }) => id) as [
      string,
      string,
      string,
      string,
    ]
    const at = bench.clock.now()
    const erase = (...ids: string[]) =>
      bench.storage.write(({ erasure }) => erasure.messages(workspaceId, ids, at))
    await erase(first, third)
    expect(contents()).toBe(4)
    await erase(second)
    expect(contents()).toBe(3)
    await bench.storage.write(({ erasure }) => erasure.redact(workspaceId, fourth))
    expect(contents()).toBe(2)
    const until = new Date(at.getTime() + DAY_MS)
    const removed = await bench.storage.write(({ history }) =>
      history.removeMessages(workspaceId, [queued.id], { until, at: until }),
    )
    expect(removed).toBe(1)
    expect([contents(), dangling()]).toEqual([1, 0])
    expect(read('select substr(content, 1, 40) from message_contents')).toContain('kept')
  })

  it('are not written again when their messages are settled', async () => {
    const workspaceId = await bench.workspace()
    const pages = 100
    await bulkOf(workspaceId, [text('long', pages * 4_096)])
    await bench.reopen()
    const [claimed] = await bench.claimMessages()
    const log = () => statSync(file('svc.db-wal')).size / 4_096
    const before = log()
    if (claimed) await bench.settle(claimed, { task: 'send', attempt: 1, outcome: REFUSED })
    expect(log() - before).toBeGreaterThan(0)
    expect(log() - before).toBeLessThan(pages / 2)
  })

  it('are in an archive like short ones', async () => {
    const workspaceId = await bench.workspace()
    const messages = await bulkOf(workspaceId, [
      text('shared'),
      text('shared'),
      text('own'),
      'short',
    ])
    const { bytes } = await exported(`file:${file('svc.db')}`)
    await imported(`file:${file('other.db')}`, bytes)
    const other = await openStorage(`file:${file('other.db')}`, testRuntime('other'))
    const all = await other.read.messages.list(workspaceId, {}, EVERYTHING)
    await other.close()
    expect(all.toReversed()).toEqual(messages)
  })
})

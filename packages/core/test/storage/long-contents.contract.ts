import { expect, it } from 'vitest'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

/** Shorter than the limit of lists, longer than what SQLite keeps in the row of a message. */
const LONG = 5_000

/** Contents of every length are read, searched and claimed alike, and an erasure of one message changes no other. */
export function longContentsContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const mail = (text: string) => ({ subject: 'Your order', text })

  /** A bulk of e-mails: the first half shares one long content, each other has its own. */
  async function mails(count: number) {
    const workspaceId = await bench.workspace(10_000)
    const shared = mail(`shared ${'s'.repeat(LONG)}`)
    const request = bench.make.bulk(workspaceId, count, { channel: 'email', content: shared })
    const messages = request.messages.map((message, i) => ({
      ...message,
      recipient: `r${i}@example.com`,
      content: i < count / 2 ? shared : mail(`own ${i} ${'o'.repeat(LONG)}`),
    }))
    const bulk = bench.make.bulkRow(messages)
    const result = await bench.accept({ ...request, messages, bulk })
    expect(result.outcome).toBe('accepted')
    return { workspaceId, messages, bulk }
  }

  it.each([
    ['few', 6],
    ['more than a slice of', 400],
  ])('reads %s long contents as they were accepted', async (_, count) => {
    const { workspaceId, messages, bulk } = await mails(count)
    const short = await bench.queued(workspaceId)
    const { read } = bench.storage
    const all = [...messages, short]
    expect(await read.messages.ofBulk(workspaceId, bulk.id)).toEqual(messages)
    expect(await read.messages.list(workspaceId, {}, EVERYTHING)).toEqual(all.toReversed())
    for (const message of [all[0], all.at(-2), all.at(-1)]) {
      expect(await read.messages.byId(workspaceId, message?.id ?? '')).toEqual(message)
    }
    const claimed = await bench.claimMessages()
    const contents = new Map(claimed.map(({ message_id, content }) => [message_id, content]))
    for (const { id, content } of all.slice(0, 50)) expect(contents.get(id)).toEqual(content)
  })

  it('leaves a content that is longer than asked out of a list, by the length of the content', async () => {
    const { workspaceId } = await mails(2)
    const listed = async (content_length: number) => {
      const page = { ...EVERYTHING, content_length }
      const rows = await bench.storage.read.messages.listShort(workspaceId, {}, page)
      return rows.map(({ content }) => content !== null)
    }
    expect(await listed(LONG)).toEqual([false, false])
    expect(await listed(2 * LONG)).toEqual([true, true])
  })

  it('finds a text in a long content', async () => {
    const { workspaceId, messages } = await mails(4)
    const bounds = { limit: 10, content_length: 10, examine: 100 }
    const found = async (part: string) => {
      const { rows } = await bench.storage.read.messages.search(workspaceId, { part }, bounds)
      return rows.map(({ id }) => id).toReversed()
    }
    const ids = messages.map(({ id }) => id)
    expect(await found('OWN 3 ooo')).toEqual([ids[3]])
    expect(await found('shared sss')).toEqual([ids[0], ids[1]])
    expect(await found('sssx')).toEqual([])
  })

  it('keeps a shared content until the last of its messages is erased', async () => {
    const { workspaceId, messages } = await mails(4)
    const claimed = await bench.claimMessages()
    for (const each of claimed)
      await bench.settle(each, { task: 'send', attempt: 1, outcome: REFUSED })
    const [first, second, third] = messages.map(({ id }) => id) as [string, string, string]
    const at = bench.clock.now()
    const { read, write } = bench.storage
    const textOf = async (id: string) => {
      const content = (await read.messages.byId(workspaceId, id))?.content
      return content && 'text' in content ? content.text?.slice(0, 6) : null
    }
    await write(({ erasure }) => erasure.messages(workspaceId, [first], at))
    expect(await textOf(first)).toBeNull()
    expect(await textOf(second)).toBe('shared')
    await write(({ erasure }) => erasure.redact(workspaceId, third))
    expect(await textOf(third)).toBeNull()
    await write(({ erasure }) => erasure.messages(workspaceId, [second], at))
    expect(await textOf(second)).toBeNull()
    const all = await read.messages.list(workspaceId, {}, EVERYTHING)
    expect(only(all.filter(({ content }) => 'text' in content)).id).toBe(messages[3]?.id)
  })
}

const REFUSED = { type: 'rejected', error_code: 'unroutable', error_message: 'No route' } as const

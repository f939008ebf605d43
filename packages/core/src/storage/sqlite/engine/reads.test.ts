import { expect, it } from 'vitest'
import type { Reads } from '../../ports/storage.ts'
import { divideReads } from './reads.ts'

function stores(side: string): Reads {
  const verb = async () => side
  return {
    messages: { byId: verb, list: verb, count: verb, bystanders: verb, byIds: verb },
    credits: { account: verb, entries: verb },
  } as unknown as Reads
}

it('fails with what the thread said, and not with what it was asked', async () => {
  const cause = new Error('no such table')
  const fail = async () => {
    throw new Error('Failed query: select 1 params: +255700000001', { cause })
  }
  const failing = { messages: { list: fail } } as unknown as Reads
  const { messages } = divideReads(failing, failing)
  await expect(messages.list('w1', {}, { limit: 1, offset: 0 })).rejects.toBe(cause)
})

it('answers one row by its key near by, and asks for all else far away', async () => {
  const { messages, credits } = divideReads(stores('near'), stores('far'))
  const verbs: Record<string, () => Promise<unknown>> = { ...messages, ...credits } as never
  const answers = Object.entries(verbs).map(async ([name, ask]) => [name, await ask()])
  expect(Object.fromEntries(await Promise.all(answers))).toEqual({
    byId: 'near',
    list: 'far',
    count: 'far',
    bystanders: 'far',
    byIds: 'far',
    account: 'near',
    entries: 'far',
  })
})

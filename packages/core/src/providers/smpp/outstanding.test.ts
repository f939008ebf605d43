import { describe, expect, test } from 'vitest'
import { type Answer, createOutstanding } from './outstanding.ts'
import { SUBMIT_SM_RESP } from './pdu.ts'

/** A PDU that can no longer be taken back. */
const written = () => false

const MAX = 0x7fff_ffff

function answerTo(sequence: number, status = 0, command = SUBMIT_SM_RESP) {
  return { command, status, sequence, body: Buffer.from('id\0') }
}

describe('sequence numbers', () => {
  test('begin again at 1 after the last', () => {
    const { nextSequence } = createOutstanding(1000, MAX)
    expect([nextSequence(), nextSequence(), nextSequence()]).toEqual([MAX, 1, 2])
  })

  test('are not used again while an answer may come, also a late one', () => {
    const outstanding = createOutstanding(1000, MAX)
    outstanding.add(1, () => {}, written)
    outstanding.add(2, () => {}, written)
    outstanding.giveUpOverdue(Number.POSITIVE_INFINITY)
    outstanding.add(3, () => {}, written)
    expect([outstanding.nextSequence(), outstanding.nextSequence()]).toEqual([MAX, 4])
  })
})

describe('answers', () => {
  test('reach their submission once', () => {
    const outstanding = createOutstanding(1000)
    const answers: Answer[] = []
    outstanding.add(1, (answer) => answers.push(answer), written)
    expect(outstanding.settle(answerTo(2))).toBe(false)
    expect(outstanding.settle(answerTo(1))).toBe(true)
    expect(outstanding.settle(answerTo(1))).toBe(false)
    expect(answers).toEqual([{ type: 'answered', status: 0, message_id: 'id' }])
  })

  test('reach their submission after its timeout too', () => {
    const outstanding = createOutstanding(1000)
    const answers: Answer[] = []
    outstanding.add(1, (answer) => answers.push(answer), written)
    expect(outstanding.giveUpOverdue(performance.now())).toBe(false)
    expect(outstanding.giveUpOverdue(performance.now() + 1001)).toBe(true)
    expect(outstanding.size()).toBe(0)
    outstanding.settle(answerTo(1))
    expect(answers.map(({ type }) => type)).toEqual(['unanswered', 'answered'])
  })

  test('are not awaited for a submission that could be taken back: it was never written', () => {
    const outstanding = createOutstanding(1000)
    const types: string[] = []
    const note = ({ type }: Answer) => types.push(type)
    outstanding.add(1, note, () => true)
    outstanding.giveUpOverdue(Number.POSITIVE_INFINITY)
    expect(outstanding.settle(answerTo(1))).toBe(false)
    outstanding.add(2, note, () => true)
    outstanding.add(3, note, written)
    outstanding.giveUpAll('closed')
    expect(types).toEqual(['unsent', 'unsent', 'unanswered'])
  })

  test('are recognised for the newest 10,000 submissions after their timeout', () => {
    const outstanding = createOutstanding(1000)
    for (let i = 1; i <= 10_001; i++) outstanding.add(i, () => {}, written)
    outstanding.giveUpOverdue(Number.POSITIVE_INFINITY)
    expect(outstanding.settle(answerTo(1))).toBe(false)
    expect(outstanding.settle(answerTo(2))).toBe(true)
  })

  test.each([
    ['a refusal', answerTo(1, 0x0b), { type: 'answered', status: 0x0b }],
    ['a nack', answerTo(1, 0x02, 0x8000_0000), { type: 'answered', status: 0x02 }],
    ['a nack without a reason', answerTo(1, 0, 0x8000_0000), { type: 'unanswered' }],
    ['the answer to another command', answerTo(1, 0, 0x8000_0015), { type: 'unanswered' }],
  ])('are read from %s', (_title, pdu, expected) => {
    const outstanding = createOutstanding(1000)
    const answers: Answer[] = []
    outstanding.add(1, (answer) => answers.push(answer), written)
    outstanding.settle(pdu)
    expect(answers).toMatchObject([expected])
  })
})

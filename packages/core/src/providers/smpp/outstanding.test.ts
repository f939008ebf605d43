import { describe, expect, test } from 'vitest'
import { type Answer, createOutstanding } from './outstanding.ts'
import { SUBMIT_SM_RESP } from './pdu.ts'

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
    outstanding.add(1, () => {})
    outstanding.add(2, () => {})
    outstanding.giveUpOverdue(Number.POSITIVE_INFINITY)
    outstanding.add(3, () => {})
    expect([outstanding.nextSequence(), outstanding.nextSequence()]).toEqual([MAX, 4])
  })
})

describe('answers', () => {
  test('reach their submission once', () => {
    const outstanding = createOutstanding(1000)
    const answers: Answer[] = []
    outstanding.add(1, (answer) => answers.push(answer))
    expect(outstanding.settle(answerTo(2))).toBe(false)
    expect(outstanding.settle(answerTo(1))).toBe(true)
    expect(outstanding.settle(answerTo(1))).toBe(false)
    expect(answers).toEqual([{ type: 'answered', status: 0, message_id: 'id' }])
  })

  test('reach their submission after its timeout too', () => {
    const outstanding = createOutstanding(1000)
    const answers: Answer[] = []
    outstanding.add(1, (answer) => answers.push(answer))
    expect(outstanding.giveUpOverdue(performance.now())).toBe(false)
    expect(outstanding.giveUpOverdue(performance.now() + 1001)).toBe(true)
    expect(outstanding.size()).toBe(0)
    outstanding.settle(answerTo(1))
    expect(answers.map(({ type }) => type)).toEqual(['unanswered', 'answered'])
  })

  test('are recognised for the newest 10,000 submissions after their timeout', () => {
    const outstanding = createOutstanding(1000)
    for (let i = 1; i <= 10_001; i++) outstanding.add(i, () => {})
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
    outstanding.add(1, (answer) => answers.push(answer))
    outstanding.settle(pdu)
    expect(answers).toMatchObject([expected])
  })
})

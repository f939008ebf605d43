import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createTurns } from '../src/admission/gate.ts'

it('starts 64 requests in a turn, the others later in their order', async () => {
  let now = 0
  const turns = createTurns({ now: () => now })
  const begun: number[] = []
  for (let i = 0; i < 200; i++) {
    const turn = turns.next()
    if (turn) turn.then(() => begun.push(i))
    else begun.push(i)
  }
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)
  expect(begun).toStrictEqual(numbers(64))
  expect(turns.delay_ms).toBe(0)
  now = 300
  await setImmediate()
  expect(begun).toStrictEqual(numbers(128))
  expect(turns.delay_ms).toBe(300)
  // Later requests wait behind the others.
  turns.next()?.then(() => begun.push(200))
  now = 450
  await setImmediate()
  expect(begun).toStrictEqual(numbers(192))
  expect(turns.delay_ms).toBe(450)
  await setImmediate()
  expect(begun).toStrictEqual(numbers(201))
  await setImmediate()
  expect(turns.delay_ms).toBe(0)
  expect(turns.next()).toBeUndefined()
})

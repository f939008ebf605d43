import { expect, test } from 'vitest'
import { createOrder } from './contacts.ts'

/** Work that ends when `end` is called. */
function held() {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const began: string[] = []
  const work = (name: string) => async () => {
    began.push(name)
    await ended
    return name
  }
  return { work, began, end: () => end() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('runs the work of one workspace in sequence, and of another concurrently', async () => {
  const order = createOrder()
  const { work, began, end } = held()
  const all = [order('a', work('1')), order('a', work('2')), order('b', work('3'))]
  await turn()
  expect(began).toEqual(['1', '3'])
  end()
  expect(await Promise.all(all)).toEqual(['1', '2', '3'])
})

test('continues after work that fails', async () => {
  const order = createOrder()
  const failed = order('a', () => Promise.reject(new Error('no')))
  const next = order('a', () => Promise.resolve(1))
  await expect(failed).rejects.toThrow('no')
  expect(await next).toBe(1)
})

test('refuses work above the limit until earlier work is done', async () => {
  const order = createOrder(2)
  const { work, end } = held()
  const all = [1, 2, 3].map((i) => order('a', work(`${i}`)))
  await expect(order('a', work('4'))).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
  expect(await Promise.race([order('b', async () => 'b'), turn().then(turn)])).toBe('b')
  end()
  await Promise.all(all)
  expect(await order('a', async () => 5)).toBe(5)
})

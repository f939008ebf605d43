import { readFileSync } from 'node:fs'
import { afterEach, expect, it, vi } from 'vitest'
import * as testkit from '../src/index.ts'
import { createReceiver } from '../src/index.ts'
import { secret } from './secrets.ts'

const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const examples = [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code ?? '')

afterEach(() => vi.unstubAllEnvs())

/**
 * Runs an example with the package in place of its imports; returns the printed lines and those
 * that its comments promise.
 */
async function run(code: string, variables: Record<string, unknown> = {}) {
  const printed: unknown[][] = []
  const scope = {
    ...testkit,
    ...variables,
    console: { log: (...values: unknown[]) => void printed.push(values) },
  }
  const body = code.replaceAll(/^import .*\n/gm, '')
  const names = Object.keys(scope).filter(
    (name) => !new RegExp(`(const|let) (\\{ )?${name}\\b`).test(body),
  )
  const values = names.map((name) => scope[name as keyof typeof scope])
  await new Function(...names, `return (async () => {${body}})()`)(...values)
  return printed
}

it('the first example delivers, repeats and forges', async () => {
  const receiver = await createReceiver({ secret })
  vi.stubEnv('SVC_WEBHOOK_SECRET', secret)
  const code = (examples[0] ?? '').replaceAll('http://127.0.0.1:8080/', receiver.url)
  expect(await run(code)).toEqual([['delivered', [200]], [403]])
  expect(receiver.duplicates).toHaveLength(1)
  expect(receiver.requests).toHaveLength(4)
  await receiver.close()
})

it('the sender example waits as its comment says', async () => {
  expect(await run(examples[1] ?? '', { secret })).toEqual([['delivered', [5000, 60_000]]])
})

it('the service example retries the delivery', async () => {
  expect(await run(examples[3] ?? '')).toEqual([['delivered'], [[2, 2]]])
})

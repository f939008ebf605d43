import { readFileSync } from 'node:fs'
import { afterEach, expect, it, vi } from 'vitest'
import * as testkit from '../src/index.ts'
import { createReceiver } from '../src/index.ts'
import { secret } from './secrets.ts'

const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const examples = [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code ?? '')

afterEach(() => vi.unstubAllEnvs())

/** Runs an example with the package in place of its imports; answers what its comments promise, and what it printed. */
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

it('its first example delivers, repeats and forges', async () => {
  const receiver = await createReceiver({ secret })
  vi.stubEnv('SVC_WEBHOOK_SECRET', secret)
  const code = (examples[0] ?? '').replaceAll('http://127.0.0.1:8080/', receiver.url)
  expect(await run(code)).toEqual([['delivered', [200]], [403]])
  expect(receiver.duplicates).toHaveLength(1)
  expect(receiver.requests).toHaveLength(4)
  await receiver.close()
})

it('its sender waits as the comment says', async () => {
  expect(await run(examples[1] ?? '', { secret })).toEqual([['delivered', [5000, 60_000]]])
})

it('its service delivers again', async () => {
  expect(await run(examples[3] ?? '')).toEqual([['delivered'], [[2, 2]]])
})

import { readFileSync } from 'node:fs'
import { Resend } from 'resend'
import { expect, it } from 'vitest'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true })

const GUIDE = new URL('../../../../docs/guides/from-resend.md', import.meta.url)

it('the program of from-resend.md sends', async () => {
  const { key } = await world().key(await world().signup(), { mode: 'test' })
  const program = /```js resend\n([\s\S]*?)```/.exec(readFileSync(GUIDE, 'utf8'))?.[1] ?? ''
  const body = program
    .replace(/^import .*$/m, '')
    .replace('svc_…', key)
    .replace('https://svc.example.com', world().url)
  const run = Object.getPrototypeOf(async () => {}).constructor(
    'Resend',
    `${body}; return { data, error }`,
  )
  const { data, error } = await run(Resend)
  expect(error).toBeNull()
  expect((await world().call('GET', `/api/v1/messages/${data.id}`, { key })).status).toBe(200)
})

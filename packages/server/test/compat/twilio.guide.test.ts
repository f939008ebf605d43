import { readFileSync } from 'node:fs'
import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { expect, it } from 'vitest'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true })

const GUIDE = new URL('../../../../docs/guides/from-twilio.md', import.meta.url)

it('the program of from-twilio.md sends', async () => {
  const owner = await world().signup()
  const { key } = await world().key(owner, { mode: 'test' })
  const program = /```js twilio\n([\s\S]*?)```/.exec(readFileSync(GUIDE, 'utf8'))?.[1] ?? ''
  const body = program
    .replace(/^import .*$/m, '')
    .replace('AC…', sidOf('account', owner.id))
    .replace('svc_…', key)
    .replace('https://svc.example.com', world().url)
  const run = Object.getPrototypeOf(async () => {}).constructor('twilio', `${body}; return message`)
  expect(await run(twilio)).toMatchObject({ status: 'queued', body: 'Your order A1 is ready' })
})

import { expect, it } from 'vitest'
import type { Mail } from '../contract/outside/mail.ts'
import { createSandboxMailer } from './sandbox-mailer.ts'

const at = new Date('2026-05-04T09:00:00.000Z')
const warnings: object[] = []
const quiet = () => {}
const log = {
  debug: quiet,
  info: quiet,
  warn: (fields: object) => warnings.push(fields),
  error: quiet,
}

function mailTo(to: string): Mail {
  return { to, subject: 'S', text: 'T', html: 'H', kind: 'reset_password', link: 'L' }
}

it('keeps the last 100, newest first', async () => {
  const mailer = createSandboxMailer({ now: () => at, log })
  for (let i = 1; i <= 105; i++) await mailer.send(mailTo(`${i}@example.com`))
  const kept = mailer.list()
  expect(kept).toHaveLength(100)
  expect(kept[0]).toEqual({ ...mailTo('105@example.com'), id: 105, at })
  expect(kept.at(-1)?.to).toBe('6@example.com')
})

it('notifies a listener until it stops, and keeps the mail when a listener throws', async () => {
  const mailer = createSandboxMailer({ now: () => at, log })
  const recipients: string[] = []
  mailer.onMail(() => {
    throw new Error('no')
  })
  const stop = mailer.onMail(({ to }) => recipients.push(to))
  await mailer.send(mailTo('a@example.com'))
  stop()
  await mailer.send(mailTo('b@example.com'))
  expect(recipients).toEqual(['a@example.com'])
  expect(mailer.list()).toHaveLength(2)
  expect(warnings).toHaveLength(2)
})

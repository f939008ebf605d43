// Without the optional packages, an option that needs one is refused when the core opens, with the command to run.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { createCore, createStripePayments } from '@svc/core'

const FILE = 'file:./svc.db'
const smtp = {
  type: 'smtp',
  name: 'mail',
  url: 'smtp://127.0.0.1:2525',
  mail_domain: 'example.com',
  connections: 1,
  resend_unknown: false,
}
const intake = { host: '127.0.0.1', port: 0 }
const twilio = {
  type: 'twilio',
  name: 'twilio',
  account_sid: `AC${'0'.repeat(32)}`,
  auth_token: '0'.repeat(32),
  senders: { sms: ['+14155550190'] },
}

const REFUSED = [
  [
    { database_url: 'postgres://db.example/svc' },
    /^database_url: PostgreSQL .* pg, .*: npm install pg@8$/,
  ],
  [
    { database_url: FILE, providers: [smtp] },
    /^providers: mail \(type smtp\) needs the package nodemailer, which is not installed: npm install nodemailer@10$/,
  ],
  [
    { database_url: FILE, providers: [{ ...smtp, bounce_domain: 'bounces.example.com', intake }] },
    /npm install nodemailer@10 smtp-server@3 postal-mime@4$/,
  ],
  [{ database_url: FILE, providers: [twilio] }, /^providers: twilio .* npm install twilio@6$/],
]

for (const [options, message] of REFUSED) {
  test(`createCore is refused: ${message}`, async () => {
    await assert.rejects(createCore(options), { code: 'package_missing', message })
    assert.ok(!existsSync('svc.db'))
  })
}

test('payments by Stripe are refused', async () => {
  const options = { secret_key: 'sk_test_1', webhook_secrets: ['whsec_1'], now: () => new Date() }
  await assert.rejects(createStripePayments(options), {
    code: 'package_missing',
    message: /npm install stripe@23$/,
  })
})

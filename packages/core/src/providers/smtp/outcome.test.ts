import { describe, expect, it } from 'vitest'
import { outcomeOf } from './outcome.ts'

function refused(reply: string, stage = 'RCPT TO') {
  return outcomeOf({ code: 'EENVELOPE', cause: null, stage, reply, is_written: false })
}

describe('a server that does not relay', () => {
  it.each([
    '554 5.7.1 <ada@example.com>: Relay access denied',
    '550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain',
    '550 relay not permitted',
    '550-Please log in first.\n550 Relaying to example.com is denied',
  ])('is a problem of the settings: %s', (reply) => {
    expect(refused(reply)).toMatchObject({
      type: 'retry',
      error_code: 'provider_unauthorized',
      misconfigured: 'provider',
    })
  })
})

// Callers choose the recipients, so a recipient's name must not stop the mail of all workspaces.
describe('a recipient with the name relay', () => {
  it.each([
    ['550 5.1.1 <relay@example.com>: User unknown', 'invalid_recipient'],
    ['550 No such user relay@example.com', 'invalid_recipient'],
    ['550 No such domain relay.example', 'invalid_recipient'],
    ['550 5.1.1 relay is not known here', 'invalid_recipient'],
    ['550 5.7.1 <ada@relay.example>: blocked', 'blocked'],
  ])('does not stop the provider: %s', (reply, error_code) => {
    const outcome = refused(reply)
    expect(outcome).toMatchObject({ type: 'rejected', error_code })
  })
})

// The recipient is not the problem and must stay reachable.
describe('an address status that is not about the recipient', () => {
  it.each([
    '550 5.1.7 Bad sender',
    '550 5.1.8 Bad sender domain',
    '550 5.1.9 Non-compliant mailer',
    '550 5.1.0 Address rejected',
    '550 5.1.0 <a@b.example> sender rejected',
    '550 5.1.4 Ambiguous',
    '550 5.1.90 Your daily limit is reached',
    '550 5.1.1 Mailbox is full',
    '550 5.1.1 Too many recipients this hour',
    '550 5.1.1 Your host is blacklisted',
    '550 5.2.1 The user receives mail at a rate that is too high',
  ])('does not suppress: %s', (reply) => {
    for (const stage of ['RCPT TO', 'DATA']) {
      expect(refused(reply, stage)).not.toHaveProperty('suppress')
    }
  })
})

describe('a recipient that cannot get mail', () => {
  it.each([
    '550 5.1.1 <quota@spam.example>: User unknown',
    '550 5.1.2 Bad domain',
    '550 5.1.3 Bad syntax',
    '550 5.1.6 Moved',
    '556 5.1.10 Null MX',
    '550 5.2.1 Disabled',
  ])('is suppressed: %s', (reply) => {
    for (const stage of ['RCPT TO', 'DATA']) {
      expect(refused(reply, stage)).toMatchObject({
        error_code: 'invalid_recipient',
        suppress: 'bounce',
      })
    }
  })
})

describe('a command that the server does not understand', () => {
  it.each([
    ['MAIL FROM', '555 Unsupported option'],
    ['MAIL FROM', '501 5.5.4 Invalid arguments'],
    ['RCPT TO', '555 5.5.4 Unsupported option'],
    ['RCPT TO', '501 5.5.4 Invalid arguments'],
  ])('is named as such at %s: %s', (stage, reply) => {
    const { error_message } = refused(reply, stage)
    expect(error_message).toContain('does not understand an address of the mail, or a parameter')
  })
})

import { describe, expect, it } from 'vitest'
import { displayName, mailSender } from './mail-sender.ts'

const settings = { mail_domain: 'mail.example' }
const WORKSPACE = '0193b3a0-1111-7111-8111-111111111111'
const senderOf = (sender: string | null, workspace_id = WORKSPACE) =>
  mailSender(settings, { workspace_id, sender })
const slugOf = (sender: string | null) =>
  senderOf(sender).address.replace(/-[0-9a-f]{8}@mail\.example$/, '')

describe('the address of a sender', () => {
  it.each([
    ['Acme', 'acme'],
    ['Acme Ltd.', 'acme-ltd'],
    ['Café Zoë & Söhne', 'cafe-zoe-sohne'],
    ['  --Acme--  ', 'acme'],
    ['A very long name of a very long company', 'a-very-long-name-of-a-ve'],
    ['Ältere-Straßen und-so-wei', 'altere-stra-en-und-so-we'],
    ['Банк', 'mail'],
    ['😀', 'mail'],
    ['', 'mail'],
    [null, 'mail'],
    ['Postmaster', 'mail'],
    ['no-reply', 'mail'],
    ['No Reply', 'mail'],
    ['Security', 'mail'],
    ['Security Team', 'mail'],
    ['ａｄｍｉｎ', 'mail'],
    ['bounce+x', 'mail'],
    ['Acme Support', 'acme-support'],
  ])('begins with the slug of %j: %s', (name, slug) => {
    expect(slugOf(name)).toBe(slug)
  })

  it('is constant, and different for each workspace', () => {
    expect(senderOf('Acme')).toEqual(senderOf('Acme'))
    const others = Array.from(
      { length: 1_000 },
      (_, i) => senderOf('Acme', `workspace ${i}`).address,
    )
    expect(new Set([...others, senderOf('Acme').address]).size).toBe(1_001)
  })

  it('is a plain address for any name', () => {
    for (const name of ['a@b', 'x\r\ny', '<>', '"', 'b+token', '../..', '\ud800', 'İ', '½']) {
      expect(senderOf(name).address).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*@mail\.example$/)
    }
  })
})

describe('a display name', () => {
  it.each([
    ['Acme Ltd', 'Acme Ltd'],
    ['Bank <ceo@bank.test>', 'Bank ceo bank.test'],
    ['Asha "Ash" \\ Co', 'Asha "Ash" \\ Co'],
    ['a\r\nBcc: b', 'a Bcc: b'],
    ['a\u0000b\u0085c', 'a b c'],
    ['gnp.\u202eexe', 'gnp. exe'],
    ['\u2067x\u2069', 'x'],
    ['x'.repeat(200), 'x'.repeat(100)],
    [`${'x'.repeat(99)}😀`, `${'x'.repeat(99)}\ufffd`],
    [null, ''],
  ])('of %j is shown as %j', (name, shown) => {
    expect(displayName(name)).toBe(shown)
  })
})

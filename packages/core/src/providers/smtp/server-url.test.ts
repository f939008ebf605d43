import { describe, expect, it } from 'vitest'
import { isLoopback, mailServer } from './server-url.ts'

describe('mailServer', () => {
  it.each([
    ['smtp://mail.example', 'mail.example', 587, false, null],
    ['smtps://mail.example/', 'mail.example', 465, true, null],
    ['smtp://Mail.Example:2525', 'mail.example', 2525, false, null],
    ['smtp://[::1]:25', '::1', 25, false, null],
    ['smtp://u:p@127.0.0.1', '127.0.0.1', 587, false, { user: 'u', password: 'p' }],
    [
      'smtps://u%40mail.example:p%2F%3A%20%C3%A9@mail.example',
      'mail.example',
      465,
      true,
      { user: 'u@mail.example', password: 'p/: é' },
    ],
  ])('reads %s', (url, host, port, is_tls, credentials) => {
    expect(mailServer(url)).toEqual({ host, port, is_tls, credentials })
  })

  it.each([
    'mail.example:25',
    'https://mail.example',
    'smtp://',
    'smtp://mail.example/inbox',
    'smtp://mail.example?requireTLS=false',
    'smtp://mail.example#a',
    'smtp://user@mail.example',
    'smtp://:p@mail.example',
    'smtp://u:%ff@mail.example',
    'smtp://mail example',
    'smtp://mail.example\n',
    'smtp://mail_1.example',
  ])('refuses %j', (url) => {
    expect(mailServer(url)).toBeNull()
  })
})

it.each([
  ['localhost', true],
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['127.0.0.1.example', false],
  ['localhost.example', false],
  ['10.0.0.1', false],
])('isLoopback of %s is %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})

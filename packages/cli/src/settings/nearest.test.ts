import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

const WORDS = ['port', 'host', 'data_dir', 'webhook_allow_http', 'webhook_allow_nets']

test.each([
  ['prot', 'port'],
  ['hots', 'host'],
  ['datadir', 'data_dir'],
  ['webhook_allow_net', 'webhook_allow_nets'],
  ['port', 'port'],
])('suggests for %s: %s', (word, suggestion) => {
  expect(nearest(word, WORDS)).toBe(suggestion)
})

test.each(['', 'x', 'colour', 'a'.repeat(10_000)])('suggests nothing for %j', (word) => {
  expect(nearest(word, WORDS)).toBeNull()
})

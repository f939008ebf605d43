import { expect, it, test } from 'vitest'
import { nearest, unknownVariables } from './setting-names.ts'

it.each([
  ['SVC_PORT', 'did you mean PORT?'],
  ['SVC_STRIPE_SECRET_KEY', 'did you mean STRIPE_SECRET_KEY?'],
  ['SVC_DATABSE_URL', 'did you mean SVC_DATABASE_URL?'],
  ['SVC_SOMETHING_ELSE', 'svc config show lists the settings'],
])('%s is not a setting: %s', (name, help) => {
  expect(unknownVariables({ [name]: 'hunter2' })).toEqual([`${name} is not a setting: ${help}`])
})

it('takes settings, variables of the command, empty variables and those of other programs', () => {
  const env = { SVC_DATA_DIR: '/srv', SVC_CONFIG: 'a.json', SVC_PROFILE: 'live', SVC_PORT: ' ' }
  expect(unknownVariables({ ...env, PATH: '/bin', DATABSE_URL: 'x' })).toEqual([])
})

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

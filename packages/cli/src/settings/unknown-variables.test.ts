import { expect, it } from 'vitest'
import { unknownVariables } from './unknown-variables.ts'

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

import { expect, it } from 'vitest'
import { whatsappForms } from './recipients.ts'

it.each([
  ['+525512345678', '+5215512345678'],
  ['+541112345678', '+5491112345678'],
  ['+551187654321', '+5511987654321'],
])('%s and %s are one person', (one, other) => {
  expect(whatsappForms(one)).toEqual([one, other])
  expect(whatsappForms(other)).toEqual([other, one])
})

it.each([
  ['of another country', '+14155550100'],
  ['of a fixed line in Brazil', '+551132345678'],
  ['that is too short', '+52551234567'],
  ['without digits', 'US.13491208655302741918'],
])('an address %s has one form', (_, address) => {
  expect(whatsappForms(address)).toEqual([address])
})

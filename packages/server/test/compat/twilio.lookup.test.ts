import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { beforeAll, expect, it } from 'vitest'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true })

type Look = { countryCode?: string; fields?: string }
let client: ReturnType<typeof twilio>
beforeAll(async () => {
  const owner = await world().signup()
  const { key } = await world().key(owner)
  client = twilio(sidOf('account', owner.id), key)
  client.lookups.baseUrl = `${world().url}/compat/twilio`
})

function lookUp(number: string, options: Look = {}) {
  return client.lookups.v2.phoneNumbers(number).fetch(options)
}

it('answers the basic package for valid numbers', async () => {
  const us = {
    ...{ valid: true, validationErrors: [], countryCode: 'US', callingCountryCode: '1' },
    ...{ nationalFormat: '(415) 992-9960', phoneNumber: '+14159929960' },
  }
  expect(await lookUp('+14159929960')).toMatchObject({
    ...us,
    ...{ lineTypeIntelligence: null, url: '/v2/PhoneNumbers/%2B14159929960' },
  })
  expect(await lookUp('4159929960', { fields: 'validation' })).toMatchObject(us)
  expect(await lookUp('0712 345 678', { countryCode: 'tz' })).toMatchObject({
    ...{ valid: true, countryCode: 'TZ', callingCountryCode: '255', phoneNumber: '+255712345678' },
  })
  expect(await lookUp('+88213300000')).toMatchObject({
    ...{ valid: true, countryCode: null, callingCountryCode: '882' },
  })
})

it.each([
  ['+141599299', 'TOO_SHORT'],
  ['+1415992996000', 'TOO_LONG'],
  ['+999123', 'INVALID_COUNTRY_CODE'],
  ['abc', 'NOT_A_NUMBER'],
  ['+441632960000', 'INVALID_BUT_POSSIBLE'],
  ['9'.repeat(1_000), 'TOO_LONG'],
])('says why %.20s is not valid: %s', async (number, fault) => {
  expect(await lookUp(number)).toMatchObject({
    ...{ valid: false, validationErrors: [fault], countryCode: null },
    ...{ callingCountryCode: null, nationalFormat: null },
  })
})

it('refuses other packages, unknown countries and wrong credentials', async () => {
  const invalid = { status: 400, code: 20001 }
  for (const fields of ['line_type_intelligence', 'validation,sim_swap', 'caller_name']) {
    await expect(lookUp('+14159929960', { fields })).rejects.toMatchObject(invalid)
  }
  await expect(lookUp('4159929960', { countryCode: 'XX' })).rejects.toMatchObject(invalid)
  const match = { fields: 'identity_match', firstName: 'Ada' }
  await expect(lookUp('+14159929960', match)).rejects.toMatchObject(invalid)
  const stranger = twilio(`AC${'0'.repeat(32)}`, 'wrong')
  stranger.lookups.baseUrl = `${world().url}/compat/twilio`
  await expect(stranger.lookups.v2.phoneNumbers('+14159929960').fetch()).rejects.toMatchObject({
    status: 401,
    code: 20003,
  })
})

import { type Endpoint, endpoint } from '@svc/core/contract'
import { lookUpNumber } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../../routes/mount.ts'
import { TwilioError } from './errors.ts'
import { Given, parametersOf } from './parameters.ts'
import { PREFIX, reading } from './routes.ts'

/** The endpoint of Twilio Lookup, version 2: the basic package, which says what the numbering plans know. */
export const lookupGroup = {
  get: endpoint({
    ...reading,
    params: z.looseObject({ number: z.string() }),
    path: `${PREFIX}/v2/PhoneNumbers/:number`,
    query: z.looseObject({}),
  }),
} satisfies Record<string, Endpoint>

const NAMES = new Set(['CountryCode'] as const)
/** The other packages ask networks and registers, which the service does not. */
const NEUTRAL = { Fields: 'validation' }
/** More than any number with its spaces and signs. */
const LENGTH_MAX = 64

export const lookupHandlers: Handlers<typeof lookupGroup> = {
  async get({ params, query }) {
    const given = new Given(parametersOf(query), NAMES, NEUTRAL)
    const text = params.number.slice(0, LENGTH_MAX)
    // As at Twilio, a number without a country is one of North America.
    const facts = await lookUpNumber(text, given.filled('CountryCode')?.toUpperCase() ?? 'US')
    if (!facts) throw new TwilioError('invalid_parameter', "'CountryCode' must be of ISO 3166-1")
    const { number, fault, country, calling_code, national_format } = facts
    return {
      calling_country_code: calling_code,
      country_code: country,
      phone_number: number,
      national_format,
      valid: fault === null,
      validation_errors: fault === null ? [] : [fault],
      ...PACKAGES,
      url: `/v2/PhoneNumbers/${encodeURIComponent(number)}`,
    }
  },
}

/** The packages that cannot be asked for. */
const PACKAGES = {
  caller_name: null,
  sim_swap: null,
  call_forwarding: null,
  line_status: null,
  line_type_intelligence: null,
  identity_match: null,
  reassigned_number: null,
  sms_pumping_risk: null,
  phone_number_quality_score: null,
  pre_fill: null,
}

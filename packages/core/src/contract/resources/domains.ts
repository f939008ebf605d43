import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { DOMAIN_TEXT, domainName } from '../fields/email-address.ts'
import { text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'

/**
 * The statuses of a sending domain. `pending`: its key was never found in DNS; `verified`; `failing`: a verified domain
 * whose key is missing or wrong in DNS since a short time; `failed`: the same for so long that its addresses are refused.
 */
export const DOMAIN_STATUSES = ['pending', 'verified', 'failing', 'failed'] as const

/** The status of a sending domain. */
export type DomainStatus = (typeof DOMAIN_STATUSES)[number]

/** What a record is for. `dkim_next` is the key of a rotation, until it is verified. */
export const DOMAIN_RECORD_PURPOSES = ['dkim', 'dkim_next', 'dmarc'] as const

/** What a record is for. */
export type DomainRecordPurpose = (typeof DOMAIN_RECORD_PURPOSES)[number]

/** The states of a record at the last check: `pending` before the first check. */
export const DOMAIN_RECORD_STATES = ['pending', 'verified', 'mismatch', 'missing'] as const

/** The state of a record at the last check. */
export type DomainRecordState = (typeof DOMAIN_RECORD_STATES)[number]

const domainRecord = z.object({
  purpose: z.enum(DOMAIN_RECORD_PURPOSES),
  type: z.literal('TXT'),
  name: z.string().meta({ example: 'svc3f9a1c2b._domainkey.example.com' }),
  value: z.string().meta({ description: 'The text to publish. For `dmarc` it is a proposal.' }),
  is_required: z.boolean().meta({ description: 'False for advice.' }),
  state: z.enum(DOMAIN_RECORD_STATES),
  found: z.string().nullable().meta({
    description: 'The beginning of the text that was found instead, with `mismatch`.',
  }),
})

/** A record to publish in DNS, and its state. */
export type DomainRecord = z.output<typeof domainRecord>

/** The record of a sending domain, without its private keys. */
export const domain = z
  .object({
    id: uuid,
    domain: z.string().meta({ example: 'example.com' }),
    status: z.enum(DOMAIN_STATUSES),
    records: z.array(domainRecord),
    previous_selector: z.string().nullable().meta({
      description: 'The selector before the last rotation. Its record may be removed a week later.',
    }),
    check_error: z.string().nullable().meta({
      description: 'Why the last check found nothing out, for example because no server answered.',
    }),
    checked_at: timestamp.nullable(),
    verified_at: timestamp.nullable(),
    failing_since: timestamp.nullable(),
    accepted_until: timestamp.nullable().meta({
      description: 'With `failing`, the time from which addresses of the domain are refused.',
    }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Domain' })

/** The record of a sending domain. */
export type Domain = z.output<typeof domain>

const domainField = text(LIMITS.domain_length)
  .refine((given) => domainName(given) !== null, DOMAIN_TEXT)
  .meta({ example: 'example.com', description: 'An international name may be in Unicode.' })

const access = { auth: 'jwt', rate: 'general', status: 200 } as const
const oneDomain = { params: z.object({ id: uuid }), not_found: 'Domain not found' } as const
const selfService = 'Answers 403 unless the operator allows self-service.'

/** Sending domains: addresses of an own domain in the header `From` of e-mails. */
export const domains = {
  create: endpoint({
    ...access,
    needs: 'develop',
    method: 'POST',
    path: '/api/v1/domains',
    status: 201,
    body: z.object({ domain: domainField }),
    data: z.object({ domain }),
    failures: ['forbidden'],
    summary: 'Add a sending domain',
    description: `Makes the DKIM key of the domain and returns the DNS records to publish. ${selfService}`,
  }),
  list: endpoint({
    ...access,
    needs: 'read',
    method: 'GET',
    path: '/api/v1/domains',
    query: listQuery({}),
    data: z.object({ domains: z.array(domain), pagination, next_after: nextAfter }),
    summary: 'List sending domains',
  }),
  get: endpoint({
    ...access,
    needs: 'read',
    ...oneDomain,
    method: 'GET',
    path: '/api/v1/domains/:id',
    data: z.object({ domain }),
    summary: 'Get one sending domain with its DNS records',
  }),
  verify: endpoint({
    ...access,
    needs: 'develop',
    ...oneDomain,
    method: 'POST',
    path: '/api/v1/domains/:id/verify',
    data: z.object({ domain }),
    failures: ['validation_error', 'rate_limit_exceeded'],
    summary: 'Look for the DNS records of a domain now',
    description: `At most once in ${LIMITS.domain_check_s} seconds for one domain.`,
  }),
  rotate: endpoint({
    ...access,
    needs: 'develop',
    ...oneDomain,
    method: 'POST',
    path: '/api/v1/domains/:id/rotate',
    data: z.object({ domain }),
    failures: ['validation_error', 'forbidden'],
    summary: 'Make a new DKIM key for a verified domain',
    description: `The old key signs until the record of the new key is verified. ${selfService}`,
  }),
  delete: endpoint({
    ...access,
    needs: 'develop',
    ...oneDomain,
    method: 'DELETE',
    path: '/api/v1/domains/:id',
    data: z.object({ message: z.string() }),
    failures: ['forbidden'],
    summary: 'Remove a sending domain and its key',
    description: `Addresses of the domain are refused from the next request on. ${selfService}`,
  }),
} as const

import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { timestamp } from '../fields/fields.ts'

const open = { method: 'GET', auth: 'none', rate: 'exempt', status: 200, enveloped: false } as const

/** A word on how a part of the service does: `ok`, or what is wrong. */
const condition = z.string().meta({ example: 'ok' })

/** The answers without an envelope. Source: interface, Health; contract section 1. */
export const health = {
  check: endpoint({
    ...open,
    path: '/health',
    data: z.object({
      status: condition,
      timestamp,
      services: z.object({ database: condition, cache: condition, queue: condition }),
    }),
    summary: 'How the service and what it depends on do',
    description: 'Answered with 200 whatever it reports.',
  }),
  live: endpoint({
    ...open,
    path: '/health/live',
    data: z.object({ status: condition }),
    summary: 'Whether the process answers',
    description: '503 when it should be started again.',
  }),
  ready: endpoint({
    ...open,
    path: '/health/ready',
    data: z.object({ status: condition }),
    summary: 'Whether the process should be sent requests',
    description: '503 while it starts, stops, or cannot reach its database.',
  }),
} as const

import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { timestamp } from '../fields/fields.ts'

const open = { method: 'GET', auth: 'none', rate: 'exempt', status: 200, enveloped: false } as const

/** The state of one part: `ok`, or the fault. */
const condition = z.string().meta({ example: 'ok' })

/** The health endpoints, whose answers have no envelope. Source: interface, Health; contract section 1. */
export const health = {
  check: endpoint({
    ...open,
    path: '/health',
    data: z.object({
      status: condition,
      timestamp,
      services: z.object({ database: condition, cache: condition, queue: condition }),
    }),
    summary: 'Get the state of the service and its dependencies',
    description: 'The status is always 200.',
  }),
  live: endpoint({
    ...open,
    path: '/health/live',
    data: z.object({ status: condition }),
    summary: 'Check whether the process answers',
    description: '503 if the process must be restarted.',
  }),
  ready: endpoint({
    ...open,
    path: '/health/ready',
    data: z.object({ status: condition }),
    summary: 'Check whether the process takes requests',
    description: '503 while the process starts, stops, or cannot reach its database.',
  }),
} as const

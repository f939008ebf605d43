import * as z from 'zod'
import { certificate, commonSettings, handlesStop, senders } from '../common-settings.ts'
import { parseStatus, STATUS_CLASSES } from './status-table.ts'

const BINDS_MAX = 16
const CONNECTIONS_MAX = 16
const ERRORS_MAX = 256

// Become C-octet strings: a NUL would end them. SMPP 3.4 has room for 15, 8 and 12; some SMSCs take more than that.
const credential = (max: number) =>
  z.string().regex(new RegExp(`^[\\x20-\\x7e]{0,${max}}$`), `must be at most ${max} visible ASCII`)

const tls = z.union([
  z.boolean(),
  z.strictObject({
    /** The authority that signed the SMSC's certificate, PEM; the public ones unless told. */
    ca: certificate.optional(),
    /** The name that the certificate must have; the host unless told. */
    servername: z.string().min(1).max(253).optional(),
  }),
])

const bind = z.strictObject({
  host: z.string().min(1).max(253),
  port: z.number().int().min(1).max(65_535).default(2775),
  system_id: credential(64).min(1),
  password: credential(64),
  system_type: credential(12).default(''),
  tls: tls.default(false),
  /** How many connections to it, each with a window of its own. */
  connections: z.number().int().min(1).max(CONNECTIONS_MAX).default(1),
})

const kind = (ton: number, npi: number) =>
  z
    .strictObject({
      ton: z.number().int().min(0).max(6),
      npi: z.number().int().min(0).max(18),
    })
    .default({ ton, npi })

const addresses = z
  .strictObject({
    alphanumeric: kind(5, 0),
    international: kind(1, 1),
    short_code: kind(3, 0),
  })
  .prefault({})

const errors = z
  .record(
    z.string().refine((text) => parseStatus(text) !== null, 'must be like "0x0400" or "1024"'),
    z.enum(STATUS_CLASSES),
  )
  .refine((map) => Object.keys(map).length <= ERRORS_MAX, `must have at most ${ERRORS_MAX}`)
  .default({})

/** What an operator sets for an account at an SMSC. Source: SMPP 3.4; what it leaves to agreements is set here. */
export const settings = z.strictObject({
  ...commonSettings,
  type: z.literal('smpp'),
  binds: z.array(bind).min(1).max(BINDS_MAX),
  /** The first for whoever names none; anything goes, and the SMSC chooses, where there are none. */
  senders: senders.optional(),
  handles_stop: handlesStop.default(false),
  /** How many PDUs one connection has under way at the most: throughput is the window by the round trip. */
  window: z.number().int().min(1).max(1000).default(10),
  /** What data_coding 0 means to the SMSC. */
  alphabet: z.enum(['gsm', 'latin1', 'ascii']).default('gsm'),
  /** How a text longer than one part goes: cut here with a header, cut here with TLVs, or cut by the SMSC. */
  long_text: z.enum(['udh', 'sar', 'payload']).default('udh'),
  /** Longer texts are rejected. */
  max_parts: z.number().int().min(1).max(255).default(25),
  /** Which receipts are asked for. */
  receipts: z.enum(['final', 'all', 'none']).default('final'),
  /** How long the SMSC may try; as it likes unless told. */
  validity_hours: z.number().int().min(1).max(720).optional(),
  /** What receipts write the ids of submit_sm_resp as. */
  id_form: z.enum(['as_is', 'fold', 'hex_to_decimal', 'decimal_to_hex']).default('as_is'),
  /** What a receipt that says UNKNOWN counts as. */
  unknown_as: z.enum(['sent', 'delivered', 'failed']).default('sent'),
  service_type: credential(5).default(''),
  addresses,
  /** What command_status values mean at this SMSC, where it differs from the table. */
  errors,
  enquire_link_s: z.number().min(1).max(600).default(30),
  response_timeout_s: z.number().min(1).max(15).default(10),
})

export type SmppSettings = z.output<typeof settings>
export type BindSettings = SmppSettings['binds'][number]

/** How long things may take, in milliseconds. */
export interface Timing {
  /** For a connection, TLS included. */
  connect_ms: number
  /** For the answer to any PDU. */
  response_ms: number
  /** Without anything from the SMSC, before it is asked whether it is there. */
  idle_ms: number
  /** How long nothing is sent on a connection after it said "throttled". */
  throttle_ms: number
  /** For one message altogether. */
  send_ms: number
  /** Between attempts to connect: full jitter below `cap_ms`, and at the least `refused_ms` after a refusal. */
  reconnect: { base_ms: number; cap_ms: number; refused_ms: number; stable_ms: number }
  /** A number in [0, 1), for jitter and for where references begin. */
  random: () => number
}

/** The times that follow from the settings. A batch is to be answered within 20 seconds. */
export function timingOf({ enquire_link_s, response_timeout_s }: SmppSettings): Timing {
  return {
    connect_ms: 10_000,
    response_ms: response_timeout_s * 1000,
    idle_ms: enquire_link_s * 1000,
    throttle_ms: 1000,
    send_ms: 18_000,
    reconnect: { base_ms: 1000, cap_ms: 60_000, refused_ms: 30_000, stable_ms: 10_000 },
    random: Math.random,
  }
}

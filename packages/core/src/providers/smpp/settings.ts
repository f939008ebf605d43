import * as z from 'zod'
import { certificate, commonSettings, handlesStop, senders } from '../common-settings.ts'
import { parseStatus, STATUS_CLASSES } from './status-table.ts'

/** The countries of the table of numbers, which is loaded only for an open account: 10 ms of CPU and 3 MB. */
const COUNTRIES =
  'AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ ' +
  'BR BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO ' +
  'DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU ' +
  'GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW ' +
  'KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT ' +
  'MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT ' +
  'PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA ' +
  'TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK ' +
  'YE YT ZA ZM ZW'

const BINDS_MAX = 16
const CONNECTIONS_MAX = 16
const ERRORS_MAX = 256

// These are C-octet strings, which a NUL would end. SMPP 3.4 allows 15, 8 and 12 characters; some SMSCs accept more.
const credential = (max: number) =>
  z.string().regex(new RegExp(`^[\\x20-\\x7e]{0,${max}}$`), `must be at most ${max} visible ASCII`)

const tls = z.union([
  z.boolean(),
  z.strictObject({
    /** The certificate of the authority that signed the SMSC's certificate, in PEM; default: public authorities. */
    ca: certificate.optional(),
    /** The name that the certificate must have; default: the host. */
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
  /** The number of connections, each with its own window. */
  connections: z.number().int().min(1).max(CONNECTIONS_MAX).default(1),
})

const kind = (ton: number, npi: number) =>
  z
    .strictObject({ ton: z.number().int().min(0).max(6), npi: z.number().int().min(0).max(18) })
    .default({ ton, npi })

const addresses = z
  .strictObject({ alphanumeric: kind(5, 0), international: kind(1, 1), short_code: kind(3, 0) })
  .prefault({})

const errors = z
  .record(
    z.string().refine((text) => parseStatus(text) !== null, 'must be like "0x0400" or "1024"'),
    z.enum(STATUS_CLASSES),
  )
  .refine((map) => Object.keys(map).length <= ERRORS_MAX, `must have at most ${ERRORS_MAX}`)
  .default({})

/** The settings of an account at an SMSC, with everything that SMPP 3.4 leaves to agreements. */
export const settings = z.strictObject({
  ...commonSettings,
  type: z.literal('smpp'),
  binds: z.array(bind).min(1).max(BINDS_MAX),
  /** The allowed senders; the first is the default. If not set, all are allowed and the SMSC chooses the default. */
  senders: senders.optional(),
  handles_stop: handlesStop.default(false),
  /** The maximum number of PDUs in flight on one connection: the throughput is the window divided by the round trip. */
  window: z.number().int().min(1).max(1000).default(10),
  /** The meaning of data_coding 0 at the SMSC. */
  alphabet: z.enum(['gsm', 'latin1', 'ascii']).default('gsm'),
  /** How a text longer than one part is split: by the service with a header, by the service with TLVs, or by the SMSC. */
  long_text: z.enum(['udh', 'sar', 'payload']).default('udh'),
  /** The maximum number of parts. Longer texts are rejected. */
  max_parts: z.number().int().min(1).max(255).default(25),
  /** Which receipts are requested. */
  receipts: z.enum(['final', 'all', 'none']).default('final'),
  /** How long the SMSC may try to deliver a message; default: the SMSC decides. */
  validity_hours: z.number().int().min(1).max(720).optional(),
  /** How receipts write an id that submit_sm_resp contained. */
  id_form: z.enum(['as_is', 'fold', 'hex_to_decimal', 'decimal_to_hex']).default('as_is'),
  /** The status of a message whose receipt has the state UNKNOWN. */
  unknown_as: z.enum(['sent', 'delivered', 'failed']).default('sent'),
  /** The country of incoming addresses without a country code: ISO 3166-1. If not set, they stay national. */
  default_country: z
    .string()
    .toUpperCase()
    .refine(
      (code) => COUNTRIES.split(' ').includes(code),
      'must be an ISO 3166-1 code of two letters, such as DE',
    )
    .optional(),
  service_type: credential(5).default(''),
  addresses,
  /** The command_status values whose class at this SMSC differs from the table. */
  errors,
  enquire_link_s: z.number().min(1).max(600).default(30),
  response_timeout_s: z.number().min(1).max(15).default(10),
})

export type SmppSettings = z.output<typeof settings>
export type BindSettings = SmppSettings['binds'][number]

/** Times and timeouts, in milliseconds. */
export interface Timing {
  /** Timeout for connecting, including TLS. */
  connect_ms: number
  /** Timeout of the answer to a PDU. */
  response_ms: number
  /** Silence of the SMSC before an enquire_link. */
  idle_ms: number
  /** Pause of a connection after the status "throttled". */
  throttle_ms: number
  /** Limit for one message with all its parts. */
  send_ms: number
  /** Waits before the next attempt to connect: full jitter below `cap_ms`, and at least `refused_ms` after a refusal. */
  reconnect: { base_ms: number; cap_ms: number; refused_ms: number; stable_ms: number }
  /** A number in [0, 1), for jitter and for the first reference. */
  random: () => number
}

/** The times that follow from the settings. Every message of a batch needs an outcome within 20 seconds. */
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

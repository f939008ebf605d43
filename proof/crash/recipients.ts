/** The result of a message in the sandbox. Source: contract section 9. */
export interface Fate {
  status: 'delivered' | 'failed'
  error_code: string | null
  /** Whether the provider accepts it: accepted messages are charged, the others are refunded. */
  is_accepted: boolean
  /** Whether the recipient writes back. */
  replies: boolean
}

/** A recipient of the test. */
export interface Recipient {
  channel: 'sms' | 'email'
  to: string
  /** Null if the API refuses the address. */
  fate: Fate | null
}

const DELIVERED: Fate = {
  status: 'delivered',
  error_code: null,
  is_accepted: true,
  replies: false,
}

function rejected(error_code: string): Fate {
  return { ...DELIVERED, status: 'failed', error_code, is_accepted: false }
}

function failedLater(error_code: string): Fate {
  return { ...DELIVERED, status: 'failed', error_code }
}

function sms(to: string, fate: Fate | null): Recipient {
  return { channel: 'sms', to, fate }
}

function email(to: string, fate: Fate | null): Recipient {
  return { channel: 'email', to, fate }
}

/** The recipient whose message takes 30 seconds. */
export const SLOW = sms('+15005550005', DELIVERED)

/** Recipients of every fate. Most are rejected ones, because each of them causes a refund. */
export const RECIPIENTS: readonly Recipient[] = [
  sms('+255700000001', DELIVERED),
  sms('+255700000002', DELIVERED),
  sms('+255700000003', DELIVERED),
  sms('+15005550001', rejected('invalid_recipient')),
  sms('+15005550002', rejected('unroutable')),
  sms('+15005550004', rejected('opted_out')),
  sms('+15005550006', DELIVERED),
  sms('+15005550007', failedLater('undelivered')),
  sms('+15005550008', { ...DELIVERED, replies: true }),
  sms('+15005550009', DELIVERED),
  email('someone@example.com', DELIVERED),
  email('delivered@sandbox.svc', DELIVERED),
  email('invalid@sandbox.svc', rejected('invalid_recipient')),
  email('bounced@sandbox.svc', failedLater('bounced')),
  sms('12345', null),
]

/** A recipient of a code: an address gets few codes, so each has its own. */
export function codeTo(number: number): Recipient {
  return email(`code-${number}@example.com`, DELIVERED)
}

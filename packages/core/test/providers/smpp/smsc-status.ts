/** SMPP 3.4 section 5.1.3: the statuses of the test SMSC. */
export const STATUS = {
  ok: 0x00,
  invalid_message_length: 0x01,
  invalid_command_length: 0x02,
  invalid_command: 0x03,
  invalid_bind_status: 0x04,
  already_bound: 0x05,
  system_error: 0x08,
  invalid_source: 0x0a,
  invalid_destination: 0x0b,
  bind_failed: 0x0d,
  invalid_password: 0x0e,
  invalid_system_id: 0x0f,
  cancel_failed: 0x11,
  queue_full: 0x14,
  invalid_esm_class: 0x43,
  throttled: 0x58,
  query_failed: 0x67,
} as const

/** SMPP 3.4 section 5.2.28 and appendix B: the states of a message, as text and as number. */
export const MESSAGE_STATES: Readonly<Record<string, number>> = {
  SCHEDULED: 0,
  ENROUTE: 1,
  DELIVRD: 2,
  EXPIRED: 3,
  DELETED: 4,
  UNDELIV: 5,
  ACCEPTD: 6,
  UNKNOWN: 7,
  REJECTD: 8,
  SKIPPED: 9,
}

// Imports nothing, because the scripts of the browser read these types too.

/** A mail that was sent to no mail server. */
export interface CapturedMail {
  id: string
  /** `service`: a mail of the service to an owner or a member; `sandbox`: a message of the workspace. */
  from: 'service' | 'sandbox'
  to: string
  subject: string
  at: string
  /** The kind of a mail of the service, such as `reset_password`; the status of a message. */
  state: string
}

/** A captured mail with its content. */
export interface WholeMail extends CapturedMail {
  text: string | null
  html: string | null
  /** The header fields of the source, in their order. */
  headers: [name: string, value: string][]
  attachments: { name: string; content_type: string; bytes: number }[]
}

/** A message to or from a phone, as its owner sees it. */
export interface PhoneItem {
  id: string
  from: 'service' | 'phone'
  at: string
  channel: 'sms' | 'whatsapp' | 'voice' | 'email'
  /** Status or error code of a message of the service. */
  state: string | null
  /** The number of ours: the sender, or the one that received the message. */
  ours: string | null
  /** What the text belongs to: a medium, a template, a recording. */
  title: string | null
  /** The text; of an SMS each segment. */
  parts: string[]
  encoding: string | null
  /** The characters because of which an SMS needs UCS-2. */
  non_gsm_characters: string[]
}

/** A request to the API of the running `svc dev`. */
export interface RequestLine {
  /** Counted from 1. */
  id: number
  at: string
  request_id: string
  method: string
  /** With the query; values that are secrets are masked. */
  path: string
  status: number
  duration_ms: number
  /** The name of the API key, `session`, or null without a valid credential. */
  key: string | null
  /** The error code of the answer. */
  error: string | null
}

/** A request with its bodies: masked and cut, as text. null: there was none. */
export interface WholeRequest extends RequestLine {
  request_body: string | null
  response_body: string | null
}

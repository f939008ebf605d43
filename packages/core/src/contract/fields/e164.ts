/** A phone number in E.164 format, as the pattern of the specification. */
export const E164 = /^\+[1-9]\d{1,14}$/

/** The id of a person at WhatsApp in the scope of a business (BSUID), such as `US.13491208655302741918`: it has no number. */
export const WHATSAPP_USER_ID = /^[A-Z]{2}\.[\w.]{1,128}$/

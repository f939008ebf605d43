/** A phone number in E.164 format, as the pattern of the specification. */
export const E164 = /^\+[1-9]\d{1,14}$/

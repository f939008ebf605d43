import * as z from 'zod'
import { LIMITS } from '../limits.ts'

const WORD = new RegExp(`^[A-Za-z0-9_-]{1,${LIMITS.email_tag_length}}$`)

const word = z
  .string()
  .regex(
    WORD,
    `Names and values of tags must be 1 to ${LIMITS.email_tag_length} letters, digits, "_" or "-"`,
  )

/** A label of an e-mail, for its events; the recipients do not see it. */
const emailTag = z.strictObject({
  name: word.meta({ example: 'campaign' }),
  value: word.meta({ example: 'may' }),
})

/** The labels of an e-mail. */
export const emailTags = z.array(emailTag).max(LIMITS.email_tags)

/** A label of an e-mail. */
export type EmailTag = z.output<typeof emailTag>

/** Twilio's form of an instant: RFC 2822, in UTC. */
export function twilioDate(date: Date): string {
  return date.toUTCString().replace('GMT', '+0000')
}

import smpp from 'smpp'

// The library converts octets to text by its own rules, and dates to `Date`. The tests need the octets of the wire.
for (const command of ['submit_sm', 'deliver_sm', 'submit_multi', 'data_sm']) {
  for (const field of ['short_message', 'validity_period', 'schedule_delivery_time']) {
    delete smpp.commands[command]?.params?.[field]?.filter
  }
}
delete smpp.tlvs.message_payload?.filter

/** npm `smpp` with message bodies as octets, both ways. */
export default smpp

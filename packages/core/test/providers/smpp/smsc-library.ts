import smpp from 'smpp'

// The library turns octets into text by rules of its own, and dates into `Date`. A witness needs what was on the wire.
for (const command of ['submit_sm', 'deliver_sm', 'submit_multi', 'data_sm']) {
  for (const field of ['short_message', 'validity_period', 'schedule_delivery_time']) {
    delete smpp.commands[command]?.params?.[field]?.filter
  }
}
delete smpp.tlvs.message_payload?.filter

/** npm `smpp` with message bodies as octets, both ways. */
export default smpp

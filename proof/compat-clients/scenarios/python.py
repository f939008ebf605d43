# Plays with smtplib of Python's standard library against the SMTP inlet.
import json
import os
import smtplib
import ssl
import time
import traceback
import urllib.request
from email.message import EmailMessage

SCENARIO = json.loads(os.environ["SCENARIO"])
SERVICE = SCENARIO["service"]


def check(name, work):
    fault = None
    try:
        work()
    except Exception:
        fault = traceback.format_exc()
    print('{"name":' + json.dumps(name) + ',"exists":true,"fault":' + json.dumps(fault) + "}")


def connect(place, key=None, context=None):
    server = smtplib.SMTP("127.0.0.1", place["smtp_port"], timeout=30)
    server.starttls(context=context or ssl.create_default_context(cadata=SCENARIO["certificate"]))
    server.login("app", place["key"] if key is None else key)
    return server


def mail_to(*recipients, **headers):
    mail = EmailMessage()
    mail["From"] = "Acme <shop@acme.example>"
    mail["To"] = ", ".join(recipients)
    mail["Subject"] = "Grüße 👋"
    for name, value in headers.items():
        mail[name.replace("_", "-")] = value
    mail.set_content("Grüße\n.\n👋\n")
    return mail


def messages(query=""):
    request = urllib.request.Request(
        SERVICE["url"] + "/api/v1/messages" + query,
        headers={"x-api-key": SERVICE["key"]},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["data"]["messages"]


def code_of(work):
    try:
        work()
    except smtplib.SMTPResponseException as error:
        return error.smtp_code
    raise AssertionError("it was not refused")


def send():
    with connect(SERVICE) as server:
        assert server.send_message(mail_to("a@example.com", "b@example.com")) == {}
    newest = messages()[0]
    assert newest["content"]["subject"] == "Grüße 👋", newest
    assert len(newest["recipients"]) == 2, newest


def several_on_one_connection():
    before = len(messages("?limit=100"))
    with connect(SERVICE) as server:
        for _ in range(5):
            server.send_message(mail_to("delivered@sandbox.svc"))
    assert len(messages("?limit=100")) == before + 5


def attachment():
    mail = mail_to("delivered@sandbox.svc")
    mail.add_alternative("<p>Grüße</p>", subtype="html")
    mail.add_attachment(b"Hello", maintype="application", subtype="pdf", filename="größe.pdf")
    with connect(SERVICE) as server:
        server.send_message(mail)
    content = messages()[0]["content"]
    assert content["attachments"][0]["filename"] == "größe.pdf", content
    assert content["html"].strip() == "<p>Grüße</p>", content


def unknown_certificate():
    try:
        connect(SERVICE, context=ssl.create_default_context())
    except ssl.SSLCertVerificationError:
        return
    raise AssertionError("the certificate was accepted")


def errors():
    assert code_of(lambda: connect(SERVICE, key="wrong")) == 535
    assert code_of(lambda: connect(SERVICE, key=SERVICE["reader"])) == 535
    with connect(SERVICE) as server:
        wrong = mail_to("delivered@sandbox.svc", X_Svc_Metadata="not JSON")
        assert code_of(lambda: server.send_message(wrong)) == 554
        # The connection continues after a refusal.
        server.send_message(mail_to("delivered@sandbox.svc"))


def rate_limit_and_retry():
    place = SCENARIO["limited"]

    def flood():
        for _ in range(6):
            with connect(place) as server:
                server.send_message(mail_to("delivered@sandbox.svc"))

    assert code_of(flood) in (451, 454)
    time.sleep(2.5)
    with connect(place) as server:
        server.send_message(mail_to("delivered@sandbox.svc"))


check("send with STARTTLS", send)
check("several mails on one connection", several_on_one_connection)
check("attachment", attachment)
check("unknown certificate", unknown_certificate)
check("errors", errors)
check("rate limit and retry", rate_limit_and_retry)
print("end of the scenario")

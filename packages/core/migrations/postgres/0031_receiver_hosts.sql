CREATE TABLE "receiver_hosts" (
	"host" text PRIMARY KEY NOT NULL,
	"failures" integer NOT NULL,
	"held_until" timestamp (3) with time zone,
	"waits_until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "gate_host" text;--> statement-breakpoint
CREATE INDEX "receiver_hosts_waits" ON "receiver_hosts" USING btree ("waits_until");--> statement-breakpoint
CREATE INDEX "webhooks_gate" ON "webhooks" USING btree ("gate_host","id") WHERE gate_host is not null;
CREATE TABLE "domain_claims" (
	"domain" text PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"domain_id" text NOT NULL,
	"claimed_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sending_domains" (
	"workspace_id" text NOT NULL,
	"id" text NOT NULL,
	"domain" text NOT NULL,
	"status" text NOT NULL,
	"selector" text NOT NULL,
	"private_key" text NOT NULL,
	"public_key" text NOT NULL,
	"next_selector" text,
	"next_private_key" text,
	"next_public_key" text,
	"previous_selector" text,
	"findings" json NOT NULL,
	"check_error" text,
	"check_began_at" timestamp (3) with time zone,
	"checked_at" timestamp (3) with time zone,
	"check_due_at" timestamp (3) with time zone,
	"verified_at" timestamp (3) with time zone,
	"failing_since" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "sending_domains_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "sending_domains_domain" ON "sending_domains" USING btree ("workspace_id","domain");--> statement-breakpoint
CREATE INDEX "sending_domains_check" ON "sending_domains" USING btree ("check_due_at");
CREATE TABLE "audit_entries" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"action" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text,
	"address" text,
	"target_type" text,
	"target_id" text,
	"details" json NOT NULL,
	"request_id" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "audit_entries_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE INDEX "audit_entries_id" ON "audit_entries" USING btree ("id");